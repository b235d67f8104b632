#include "base/file_mapping.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file_handle.hpp"
#include "base/formatted.hpp"
#include "rcap/core/error.hpp"

namespace rcap {

FileMapping::FileMapping(const std::filesystem::path& path, std::string_view where) {
  const auto refuse = [where](std::string_view what, int error) {
    throw BadFile(formatted("{}: {}: {}", where, what, describe_error(error)));
  };
  // Opening a pipe would wait for a writer.
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) refuse("cannot be opened", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) refuse("cannot be examined", errno);
  if (!S_ISREG(status.st_mode)) throw BadFile(formatted("{}: is not a regular file", where));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;  // there is no empty map
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (start == MAP_FAILED) refuse("cannot be mapped into memory", errno);
  bytes_ = {static_cast<const std::byte*>(start), size};
}

FileMapping::~FileMapping() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace rcap
