#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.hpp"
#include "data/packs/packed_format.hpp"
#include "data/packs/partial_pack.hpp"

namespace rcap {

/// Names of images without the folder, so that they stay right if the data are moved.
class PackedNames {
 public:
  explicit PackedNames(const std::filesystem::path& source);

  [[nodiscard]] std::string of(const ImageSource& images, SampleId id) const;

 private:
  std::string folder_;
};

/// Index, names and description of the remaining images: what comes after the pixels.
class PackTables {
 public:
  /// @throws BadFile  a class or the test split has lost all of its images
  PackTables(const Dataset& dataset, const PackedNames& names, const PartialPack& partial);

  [[nodiscard]] std::int64_t train_count() const noexcept { return train_count_; }
  [[nodiscard]] std::int64_t test_count() const noexcept { return test_count_; }

  /// The head of the file, and the bytes after its pixels.
  [[nodiscard]] std::pair<packed_format::Head, std::string> finish(const PackRecipe& recipe,
                                                                   std::uint64_t plan) const;

 private:
  void check_classes() const;
  [[nodiscard]] std::vector<std::string> remarks() const;

  const Dataset& dataset_;
  const PartialPack& partial_;
  std::vector<std::int64_t> class_counts_;  ///< training images that remain
  std::string index_;
  std::string names_;
  std::int64_t train_count_ = 0;
  std::int64_t test_count_ = 0;
};

}  // namespace rcap
