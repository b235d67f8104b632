#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "models/dino_options.hpp"
#include "models/model_info.hpp"
#include "models/network.hpp"
#include "rcap/core/ids.hpp"

namespace rcap {

struct ModelOptions {
  int channels = 3;  ///< of the images
  ClassId class_count = 10;
  std::uint64_t seed = 0;  ///< for the initial weights
  int image_height = 224;  ///< for networks whose shape depends on it; others take any size
  int image_width = 224;
  DinoOptions dino{};  ///< for `dinov2-mlp` only
};

/// Makes the network called `name`, freshly initialised: the same weights for the same
/// options. Changes the state of LibTorch's default generator.
/// @throws InvalidArgument  an unknown name (lists the known ones), or options that the network
///                          does not support
[[nodiscard]] std::shared_ptr<Network> make_model(std::string_view name,
                                                  const ModelOptions& options);

}  // namespace rcap
