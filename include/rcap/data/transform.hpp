#pragma once

#include <cstdint>
#include <optional>

#include "rcap/core/random_stream.hpp"
#include "rcap/data/dataset.hpp"

namespace rcap {

/// Random numbers of one sample, one after another. They depend on (seed, epoch, sample)
/// alone, so an augmented image is the same whichever thread makes it, and when.
class SampleRandom {
 public:
  SampleRandom(const RandomStream& stream, SampleId id) : stream_(stream.bits(id)) {}

  /// The next whole number in [0, bound), `bound` > 0.
  [[nodiscard]] int below(int bound) {
    return static_cast<int>(
        RandomStream::from_start(stream_).below(static_cast<std::uint64_t>(bound), drawn_++));
  }

 private:
  std::uint64_t stream_;
  SampleId drawn_ = 0;
};

/// From an image as stored to the numbers a network reads, with torchvision's meaning.
struct TransformOptions {
  /// The shorter side becomes this long, the longer one in proportion (antialiased bilinear);
  /// 0 leaves the size as it is.
  int resize = 0;
  int crop = 0;     ///< side of the square that is cut out; 0 takes the whole image
  int padding = 0;  ///< zeros put around the image before a random crop
  bool flip = false;
  Normalization normalization;
};

/// Resize, crop, flip, scaling to 0 .. 1 and normalisation in one go. For training the crop
/// lies anywhere and every second image is flipped; for evaluation the crop is central and
/// nothing is random.
class Transform {
 public:
  /// @throws InvalidArgument  on a negative size, or a deviation that is not above 0
  explicit Transform(const TransformOptions& options);

  /// What comes out of an image of this size.
  [[nodiscard]] ImageShape output_shape(ImageShape image) const noexcept;

  /// Writes height x width x channels numbers, the channels of a pixel side by side.
  ///
  /// @param random   for training; nothing for evaluation
  /// @param scratch  memory of the calling thread, for an image in between
  /// @throws InvalidArgument  the image is smaller than the crop
  void apply(ImageView image, std::optional<SampleRandom> random, Image& scratch,
             float* numbers) const;

 private:
  struct Window {
    int top;  ///< may lie outside of the image, in the padding
    int left;
    bool flipped;
  };

  [[nodiscard]] Window random_window(ImageView image, ImageShape out, SampleRandom& random) const;
  void copy_window(ImageView image, const Window& window, ImageShape out, float* numbers) const;

  TransformOptions options_;
  std::vector<float> numbers_of_;  ///< per channel, the number of each of the 256 levels
};

}  // namespace rcap
