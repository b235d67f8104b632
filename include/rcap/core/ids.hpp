#pragma once

#include <cstdint>

namespace rcap {

/// A position in the whole data set, counted from 0. Signed and 64 bits wide so
/// that arrays of PyTorch and NumPy are read and written without a copy.
using SampleId = std::int64_t;

/// What a label names, counted from 0.
using ClassId = std::int32_t;

}  // namespace rcap
