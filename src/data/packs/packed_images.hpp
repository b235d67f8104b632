#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/dataset.hpp"
#include "data/images/resize_image.hpp"

namespace rcap {

/// What was done to every image before packing, in this order.
struct PackRecipe {
  bool fast_decode = false;  ///< JPEGs were decoded at reduced size, see `decode_image`
  int center_crop = 0;       ///< side of the square cut out of the middle; 0: the whole image
  int resize = 0;            ///< the shorter side; 0: as it was
  Interpolation interpolation = Interpolation::Bilinear;  ///< of the resize

  bool operator==(const PackRecipe&) const = default;
};

/// An open packed file.
class PackedFile;

/// The images of one split in a packed file: decoded pixels, any of them by its id.
///
/// The first time that an image is read, its pixels are checked against their checksum, so damage
/// is found where it matters and opening reads no pixels. A file that is written to or truncated
/// while it is open is refused at the next read; replacing it by renaming another one over it is
/// safe.
class PackedImages final : public ImageSource {
 public:
  /// The `count` images of the file, starting with image `first`.
  PackedImages(std::shared_ptr<const PackedFile> file, std::int64_t first, std::int64_t count);

  [[nodiscard]] std::int64_t size() const noexcept override { return count_; }
  /// @throws BadFile  the pixels are damaged or cannot be read; names the image and its place
  [[nodiscard]] ImageView read(SampleId id, Image& buffer) const override;
  [[nodiscard]] std::string name_of(SampleId id) const override;
  [[nodiscard]] std::optional<ImageShape> fixed_shape() const noexcept override { return shape_; }
  /// False, although there is nothing to decode: pixels may have to come from the disk, and the
  /// remaining work for an image of 224 x 224 takes longer than passing it between threads.
  [[nodiscard]] bool in_memory() const noexcept override { return false; }

 private:
  std::shared_ptr<const PackedFile> file_;
  std::int64_t first_;
  std::int64_t count_;
  std::optional<ImageShape> shape_;
};

/// A data set from a packed file, and how it was made.
struct PackedDataset {
  Dataset dataset;
  PackRecipe recipe;
  std::uint64_t file_bytes = 0;
  std::uint64_t plan = 0;  ///< what the file was made from: equal for equal sources and recipes
};

/// Opens a file that `pack_images` made. Everything except the pixels is checked here: sizes,
/// checksums, counts, places, labels.
/// @throws BadFile  names the file, the byte, what was found and what was expected
[[nodiscard]] PackedDataset open_packed(const std::filesystem::path& path);

/// The data set in the packed file at `path`; empty if there is no file that begins like one.
/// @param name  which data set it must hold
/// @throws InvalidArgument  it holds another one; names both
/// @throws BadFile          like `open_packed`
[[nodiscard]] std::optional<Dataset> open_if_packed(const std::filesystem::path& path,
                                                    std::string_view name);

/// Whether there is a regular file that begins like a packed one.
[[nodiscard]] bool is_packed(const std::filesystem::path& path);

}  // namespace rcap
