#pragma once

#include <cstdint>

#include "rcap/core/export.hpp"

RCAP_API_BEGIN
namespace rcap {

/// A position in the whole data set, counted from 0. Signed and 64 bits wide so
/// that PyTorch and NumPy arrays are read and written without a copy.
using SampleId = std::int64_t;

/// What a label names, counted from 0.
using ClassId = std::int32_t;

/// The most epochs a run can have: their product with the batches of an epoch fits into 64 bits.
inline constexpr std::int64_t MostEpochs = 2'147'483'647;

}  // namespace rcap
RCAP_API_END
