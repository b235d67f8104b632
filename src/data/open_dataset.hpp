#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/dataset.hpp"

namespace rcap {

struct DatasetOptions {
  std::filesystem::path folder;  ///< empty: the usual place of the data set
  std::string label_column{};    ///< for a table, see `TableOptions`
  /// Keeps this many of the training samples, see `proportional_part`; empty: all.
  std::optional<std::int64_t> train_samples{};
  double imbalance = 1.0;  ///< largest class over smallest, see `long_tailed`
  std::uint64_t seed = 0;  ///< for the long tail, parts of the data and `synthetic`
  int least_side = 0;      ///< for images in files, see `decode_image`
  bool skip_bad = false;   ///< leave out images that cannot be decoded, and count them
  int threads = 1;         ///< for checks that read every file
};

/// One line about a data set.
struct DatasetInfo {
  std::string_view name;
  std::string_view summary;
};

/// All data sets, in the order in which they are shown.
[[nodiscard]] std::span<const DatasetInfo> datasets() noexcept;

/// Opens the data set called `name` and checks it: files, sizes, counts, label ranges. Then a part
/// of the training samples is drawn, then the long tail from that part.
/// @throws InvalidArgument  an unknown name (lists the known ones), an option out of range
/// @throws BadFile          names the file, what was found, what was expected, the remedy
[[nodiscard]] Dataset open_dataset(std::string_view name, const DatasetOptions& options);

/// Draws `train_samples` and the long tail of `imbalance` from the training samples, as
/// `open_dataset` does by itself.
void thin_out(Dataset& dataset, const DatasetOptions& options);

}  // namespace rcap
