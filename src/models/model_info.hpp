#pragma once

#include <span>
#include <string_view>

namespace rcap {

/// One line about a network.
struct ModelInfo {
  std::string_view name;
  std::string_view summary;
};

/// All networks, in display order.
[[nodiscard]] std::span<const ModelInfo> models() noexcept;

}  // namespace rcap
