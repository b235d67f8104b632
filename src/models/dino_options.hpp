#pragma once

namespace rcap {

/// What the head of `dinov2-mlp` sees of an image, 3 x 768 numbers.
enum class DinoFeatures {
  ClsRegPatch,  ///< class token, mean of the registers, mean of the patches
  Cls2Avg,      ///< class tokens of the last two blocks, mean of the patches
  Cls3,         ///< class tokens of the last three blocks
};

/// Between the two layers of a head.
enum class HeadActivation { Relu, Gelu, None };

struct DinoOptions {
  DinoFeatures features = DinoFeatures::ClsRegPatch;
  HeadActivation activation = HeadActivation::Relu;
};

}  // namespace rcap
