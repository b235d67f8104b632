#pragma once

#include <optional>
#include <vector>

#include "data/dataset.hpp"
#include "data/images/cut_out.hpp"
#include "data/images/resize_image.hpp"
#include "data/images/sample_random.hpp"

namespace rcap {

/// From an image as stored to the numbers a network reads, with torchvision's semantics. The steps
/// are taken in the order of the fields.
struct TransformOptions {
  /// Side of a square cut out of the middle first of all (178 for CelebA); 0 takes the whole image.
  /// A smaller image is surrounded by zeros.
  int center_crop = 0;
  /// The length of the shorter side after resizing, the longer one in proportion, antialiased; 0
  /// keeps the size.
  int resize = 0;
  Interpolation interpolation = Interpolation::Bilinear;
  int crop = 0;  ///< side of the square that is cut out; 0 takes the whole image
  /// For training, the crop is anywhere, not in the middle as for evaluation.
  bool random_crop = true;
  int padding = 0;               ///< zeros put around the image before a random crop
  bool flip = false;             ///< for training: every second image, on average, is mirrored
  bool trivial_augment = false;  ///< for training: TrivialAugmentWide, see trivial_augment.hpp
  Normalization normalization{};
};

/// Crop, resize, crop, flip, augmentation, scaling to [0, 1] and normalisation in one go. For
/// evaluation nothing is random: crops are central, nothing is flipped or augmented.
///
/// For training, the random numbers of a sample are drawn in this order, each only if the options
/// use it: top and left of the crop (both, if either can vary), the flip, then operation, bin and
/// direction of the augmentation.
class Transform {
 public:
  /// Images in between; memory of the calling thread, reused for every image.
  struct Scratch {
    Image centered;
    Image resized;
    Image cropped;
    Image augmented;
    ImageResizer resizer;
  };

  /// @throws InvalidArgument  on a negative size, or a deviation that is not above 0
  explicit Transform(const TransformOptions& options);

  /// The shape that comes out for an image of this size. Sides that are 0, for images of unknown
  /// size, stay 0 if the result depends on them.
  [[nodiscard]] ImageShape output_shape(ImageShape image) const;

  /// Writes height x width x channels numbers, the channels of a pixel side by side.
  ///
  /// Of a resized image, only the part inside the crop is computed.
  ///
  /// @param random   for training; empty for evaluation
  /// @throws InvalidArgument  the image is smaller than a random crop, or does not have 1 or 3
  ///                          channels, or has more of them than the normalisation
  void apply(ImageView image, std::optional<SampleRandom> random, Scratch& scratch,
             float* numbers) const;

  /// The same image before its levels become numbers: (level / 255 - mean) / deviation is still to
  /// be applied. The view is valid as long as `image` and until `scratch` is used again.
  [[nodiscard]] ImageView apply_to_levels(ImageView image, std::optional<SampleRandom> random,
                                          Scratch& scratch) const;

 private:
  /// Means and deviations of the levels of some consecutive pixels.
  struct Scale {
    std::vector<float> mean;
    std::vector<float> deviation;
  };

  void check(const ImageView& image) const;
  [[nodiscard]] ImageShape after_center_crop(ImageShape image) const;
  [[nodiscard]] ImageShape after_resize(ImageShape image) const;
  [[nodiscard]] ImageShape after_crop(ImageShape image) const;
  [[nodiscard]] Window random_window(ImageShape image, ImageShape out, SampleRandom& random) const;
  /// Resizes the part of the image inside the window, and moves the window there.
  [[nodiscard]] ImageView resize_window(const ImageView& image, ImageShape shape, Window& window,
                                        Scratch& scratch) const;

  TransformOptions options_;
  Scale grey_;
  Scale colour_;
};

}  // namespace rcap
