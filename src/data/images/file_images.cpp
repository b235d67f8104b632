#include "data/images/file_images.hpp"

#include <sys/stat.h>
#include <utility>

#include "data/images/decode_image.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {

FileImages::FileImages(std::filesystem::path root, PathList files, int least_side)
    : root_(std::move(root)), files_(std::move(files)), least_side_(least_side) {}
FileImages::FileImages(std::filesystem::path root, const std::vector<std::string>& files,
                       int least_side)
    : FileImages(std::move(root), PathList(files), least_side) {}

std::int64_t FileImages::size() const noexcept { return static_cast<std::int64_t>(files_.size()); }

ImageView FileImages::read(SampleId id, Image& buffer) const {
  decode_image(path_of(id), buffer, least_side_);
  return buffer.view();
}

std::string FileImages::name_of(SampleId id) const { return path_of(id).string(); }

std::uint64_t FileImages::stamp_of(SampleId id) const {
  struct stat status {};
  if (::stat(path_of(id).c_str(), &status) != 0) return 0;
  const auto seconds = static_cast<std::uint64_t>(status.st_mtim.tv_sec);
  const auto nanoseconds = static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
  return mix64(static_cast<std::uint64_t>(status.st_size) ^
               mix64(seconds * 1'000'000'000 + nanoseconds));
}

std::filesystem::path FileImages::path_of(SampleId id) const {
  return root_ / files_[static_cast<std::size_t>(id)];
}

}  // namespace rcap
