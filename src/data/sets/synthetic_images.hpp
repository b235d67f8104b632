#pragma once

#include <cstdint>

#include "data/dataset.hpp"

namespace rcap {

/// A generated data set for tests and benchmarks: 6,000 training and 1,000 test images of
/// 28 x 28 grey pixels in 10 classes of equal size.
///
/// Every class is a smooth random pattern. An image shows it shifted by up to 4 pixels, with
/// varying contrast, mixed with part of another class's pattern and with noise of varying strength:
/// some images are easy and some are almost hopeless, so losses differ as they do in real data. A
/// linear model classifies four in five of the test images correctly, a small convolutional network
/// nine in ten.
///
/// Identical for a given seed on every machine. The normalisation is filled in.
[[nodiscard]] Dataset make_synthetic_images(std::uint64_t seed);

}  // namespace rcap
