#pragma once

#include "rcap/core/options.hpp"

namespace rcap {

/// The features that the head of `dinov2-mlp` gets for an image, 3 x 768 numbers.
enum class DinoFeatures {
  ClsRegPatch,  ///< class token, mean of the registers, mean of the patches
  Cls2Avg,      ///< class tokens of the last two blocks, mean of the patches
  Cls3,         ///< class tokens of the last three blocks
};

/// The activation between the two layers of a head.
enum class HeadActivation { Relu, Gelu, None };

struct DinoOptions {
  DinoFeatures features = DinoFeatures::ClsRegPatch;
  HeadActivation head_activation = HeadActivation::Relu;
};

inline void list_options(OptionFields& fields, DinoOptions& options) {
  fields.choice("features", options.features, {"cls-reg-patch", "cls2-avg", "cls3"},
                "dinov2-mlp: features that the head gets");
  fields.choice("head_activation", options.head_activation, {"relu", "gelu", "none"},
                "dinov2-mlp: activation between the layers of the head");
}

}  // namespace rcap
