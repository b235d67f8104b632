#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/packs/packed_images.hpp"

namespace rcap {

struct PackOptions {
  PackRecipe recipe{};
  bool skip_bad = false;  ///< leave out images that cannot be decoded, with a remark
  bool restart = false;   ///< start over, whatever exists
  int threads = 1;        ///< they change the time taken, never the file
};

/// Images that are safe in the partial file, or left out, and the bytes written so far.
struct PackProgress {
  std::int64_t done = 0;
  std::int64_t total = 0;
  std::uint64_t bytes = 0;
};

struct PackSummary {
  std::int64_t train_count = 0;
  std::int64_t test_count = 0;
  std::uint64_t file_bytes = 0;
  std::int64_t done_before = 0;       ///< images that an earlier call packed
  std::vector<std::string> left_out;  ///< why, one for each image that cannot be decoded
};

/// Decodes, crops and resizes all images of a data set into one file that `open_packed` reads.
///
/// The file grows as OUT.partial; OUT.partial.log beside it records which images are safe. If a
/// call ends early, in whatever way, even by a kill or a power cut, the next one with the same data
/// set and recipe continues it, and the file gets the same bytes as without the interruption. OUT
/// appears only when it is complete.
///
/// The same data set and recipe give the same bytes, whatever the number of threads. Images are
/// named by their paths below `source`.
///
/// @param dataset  with images as its source has them; for `recipe.fast_decode`, opened with
///                 `least_side = recipe.resize`
/// @param source   the folder that the data set was opened from; may be empty
/// @param go_on    receives the progress after every image, from one thread at a time; returns
///                 false to stop
/// @return empty if `go_on` stopped it
/// @throws InvalidArgument  sizes out of range, fast decoding together with a crop or without a
///                          resize
/// @throws BadFile          an image that cannot be decoded (without `skip_bad`), a class whose
///                          images are all left out, a full disk; OUT or OUT.partial of other
///                          images or another recipe (without `restart`): says what differs
[[nodiscard]] std::optional<PackSummary> pack_images(
    const Dataset& dataset, const std::filesystem::path& source, const std::filesystem::path& out,
    const PackOptions& options, const std::function<bool(const PackProgress&)>& go_on = {});

/// An estimate of the size of the packed file in bytes, from a few of the images.
[[nodiscard]] std::uint64_t estimate_packed_bytes(const Dataset& dataset, const PackRecipe& recipe);

/// The shape that the recipe gives an image of this shape. A crop that is larger than the image is
/// filled up with black.
[[nodiscard]] ImageShape packed_shape(ImageShape shape, const PackRecipe& recipe);

}  // namespace rcap
