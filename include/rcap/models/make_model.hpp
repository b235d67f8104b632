#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "rcap/core/ids.hpp"
#include "rcap/models/network.hpp"

namespace rcap {

struct ModelOptions {
  int channels = 3;  ///< of the images
  ClassId class_count = 10;
  std::uint64_t seed = 0;  ///< of the initial weights
};

/// One line about a network.
struct ModelInfo {
  std::string_view name;
  std::string_view summary;
};

/// All networks, in the order in which they are shown.
[[nodiscard]] std::span<const ModelInfo> models() noexcept;

/// Makes the network called `name`, freshly initialised: the same weights for the same
/// options. Changes the state of LibTorch's default generator.
/// @throws InvalidArgument  an unknown name (lists the known ones)
[[nodiscard]] std::shared_ptr<Network> make_model(std::string_view name,
                                                  const ModelOptions& options);

}  // namespace rcap
