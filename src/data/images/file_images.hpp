#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/images/path_list.hpp"

namespace rcap {

/// How a data set of images in files is opened.
struct ImageFileOptions {
  bool skip_bad = false;   ///< leave out images that are missing or cannot be decoded
  int threads = 1;         ///< for checks and listings
  int least_side = 0;      ///< as in `decode_image`
  std::uint64_t seed = 0;  ///< for the part that an image folder holds out
  /// For an image folder. Off: an empty file is found only when it is read, like other bad images.
  bool refuse_empty = true;
};

/// Images in separate files, decoded when they are read.
class FileImages final : public ImageSource {
 public:
  /// @param files       below `root`
  /// @param least_side  as in `decode_image`
  FileImages(std::filesystem::path root, PathList files, int least_side = 0);
  FileImages(std::filesystem::path root, const std::vector<std::string>& files, int least_side = 0);

  [[nodiscard]] std::int64_t size() const noexcept override;
  [[nodiscard]] ImageView read(SampleId id, Image& buffer) const override;
  [[nodiscard]] std::string name_of(SampleId id) const override;
  [[nodiscard]] std::uint64_t stamp_of(SampleId id) const override;

 private:
  [[nodiscard]] std::filesystem::path path_of(SampleId id) const;

  std::filesystem::path root_;
  PathList files_;
  int least_side_;
};

}  // namespace rcap
