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

/// The images of one split, by position; or, of a table, the rows in their place.
///
/// Immutable: any number of threads may read at a time.
class ImageSource {
 public:
  virtual ~ImageSource() = default;

  [[nodiscard]] virtual std::int64_t size() const noexcept = 0;

  /// One image: a view into the source where it is in memory, else decoded into `buffer`,
  /// whose memory is used again. The view holds as long as both.
  /// @throws BadFile  names the file and what is wrong with it
  [[nodiscard]] virtual ImageView read(SampleId id, Image& buffer) const = 0;

  /// What a person calls the sample: a path, or "data_batch_2.bin, image 17".
  [[nodiscard]] virtual std::string name_of(SampleId id) const = 0;

  /// A number that changes with the file of the sample, from its size and its time; 0 where samples
  /// have no file of their own.
  [[nodiscard]] virtual std::uint64_t stamp_of(SampleId id) const {
    (void)id;
    return 0;
  }

  /// The size all images have; nothing where it differs, or is known only after decoding.
  [[nodiscard]] virtual std::optional<ImageShape> fixed_shape() const noexcept {
    return std::nullopt;
  }

  /// Whether `read` only points at memory: then worker threads have nothing to gain.
  [[nodiscard]] virtual bool in_memory() const noexcept { return false; }

  /// Whether samples are rows of numbers: then `row` is what to call, `read` refuses, and
  /// `fixed_shape` is 1 x 1 with one channel per column.
  [[nodiscard]] virtual bool holds_rows() const noexcept { return false; }

  /// The numbers of a row, ready for a network: no transform applies. They hold as long as the
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
  std::vector<std::int32_t> groups;  ///< one per image; empty where groups are the classes

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
  std::vector<std::string> group_names;  ///< empty where groups are the classes
  int channels = 3;
  Normalization normalization;
  Split train;
  Split test;
  Split held_out;                    ///< training samples that a run keeps aside; mostly none
  std::int64_t changed_labels = 0;   ///< of `train`, wrong on purpose
  bool is_center_cropped = false;    ///< when it was packed; cropping again would cut off more
  std::vector<std::string> remarks;  ///< what a person should know: images left out, a subset

  [[nodiscard]] ClassId class_count() const noexcept {
    return static_cast<ClassId>(class_names.size());
  }
};

}  // namespace rcap
