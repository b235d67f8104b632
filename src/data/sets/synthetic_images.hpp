#pragma once

#include <cstdint>

#include "data/dataset.hpp"

namespace rcap {

/// A generated data set for tests and benchmarks: 6,000 training and 1,000 test images of
/// 28 x 28 grey pixels in 10 classes of equal size.
///
/// Every class is a smooth random pattern. An image shows it shifted by up to 4 pixels, with
/// more or less contrast, under part of the pattern of another class and under noise of its
/// own strength: some images are easy and some are close to hopeless, so losses differ as
/// they do in real data. A linear model gets four in five of the test images right, a small
/// convolutional network nine in ten.
///
/// The same for one seed on every machine. The normalisation is filled in.
[[nodiscard]] Dataset make_synthetic_images(std::uint64_t seed);

}  // namespace rcap
