#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/images/image.hpp"
#include "rcap/core/ids.hpp"

namespace rcap {

/// The images of one split, by position; for a table, its rows instead.
///
/// Immutable: any number of threads may read at once.
class ImageSource {
 public:
  virtual ~ImageSource() = default;

  [[nodiscard]] virtual std::int64_t size() const noexcept = 0;

  /// One image: a view into the source if it is in memory; otherwise decoded into `buffer`, whose
  /// memory is reused. The view is valid as long as both.
  /// @throws BadFile  names the file and what is wrong with it
  [[nodiscard]] virtual ImageView read(SampleId id, Image& buffer) const = 0;

  /// The sample's name for people: a path, or "data_batch_2.bin, image 17".
  [[nodiscard]] virtual std::string name_of(SampleId id) const = 0;

  /// A number that changes with the file of the sample, from its size and time; 0 if samples have
  /// no files of their own.
  [[nodiscard]] virtual std::uint64_t stamp_of(SampleId id) const {
    (void)id;
    return 0;
  }

  /// The size of all images; empty if it differs, or is known only after decoding.
  [[nodiscard]] virtual std::optional<ImageShape> fixed_shape() const noexcept {
    return std::nullopt;
  }

  /// Whether `read` only points at memory, so that worker threads gain nothing.
  [[nodiscard]] virtual bool in_memory() const noexcept { return false; }

  /// Whether samples are rows of numbers: then call `row`; `read` refuses, and `fixed_shape` is
  /// 1 x 1 with one channel per column.
  [[nodiscard]] virtual bool holds_rows() const noexcept { return false; }

  /// The numbers of a row, ready for a network: no transform applies. They are valid as long as the
  /// source.
  /// @return nullptr for an image
  [[nodiscard]] virtual const float* row(SampleId id) const noexcept {
    (void)id;
    return nullptr;
  }
};

/// Samples to train on, or to evaluate with.
struct Split {
  std::shared_ptr<const ImageSource> images;
  std::vector<ClassId> labels;       ///< one per image, 0 to class_count - 1
  std::vector<std::int32_t> groups;  ///< one per image; empty if the groups are the classes

  [[nodiscard]] std::int64_t size() const noexcept {
    return static_cast<std::int64_t>(labels.size());
  }
};

/// The samples of a split at the given positions, in that order.
[[nodiscard]] Split subset(const Split& split, std::span<const SampleId> positions);

/// Per channel, of values scaled to [0, 1].
struct Normalization {
  std::vector<float> mean;
  std::vector<float> deviation;
};

struct Dataset {
  std::string name;
  std::vector<std::string> class_names;
  std::vector<std::string> group_names;  ///< empty if the groups are the classes
  int channels = 3;
  Normalization normalization;
  Split train;
  Split test;
  Split held_out;                    ///< training samples that a run sets aside; usually none
  std::int64_t changed_labels = 0;   ///< of `train`, wrong on purpose
  bool is_center_cropped = false;    ///< when it was packed; cropping again would cut off more
  std::vector<std::string> remarks;  ///< what the user should know: images left out, a subset

  [[nodiscard]] ClassId class_count() const noexcept {
    return static_cast<ClassId>(class_names.size());
  }
};

}  // namespace rcap
