#include "io/safetensors_format.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace rcap {

std::size_t bytes_of(TensorType type) noexcept { return safetensors::row_of(type).bytes; }

namespace safetensors {

const TypeRow& row_of(TensorType type) noexcept { return Types[static_cast<std::size_t>(type)]; }

std::optional<std::uint64_t> byte_count(std::span<const std::int64_t> shape, TensorType type) {
  std::uint64_t bytes = bytes_of(type);
  bool empty = false;
  for (const std::int64_t length : shape) {
    if (length < 0) return std::nullopt;
    empty = empty || length == 0;
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(length, 1));
    if (bytes > LargestDimension / factor) return std::nullopt;
    bytes *= factor;
  }
  return empty ? 0 : bytes;
}

std::size_t first_bad_truth_value(const TensorView& tensor) {
  if (tensor.type != TensorType::Bool) return tensor.data.size();
  const auto bad = std::find_if(tensor.data.begin(), tensor.data.end(),
                                [](std::byte byte) { return byte > std::byte{1}; });
  return static_cast<std::size_t>(bad - tensor.data.begin());
}

const TensorView* find_tensor(std::span<const TensorView> tensors, std::string_view name) noexcept {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const TensorView& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

std::optional<std::string_view> first_repeated(std::vector<std::string_view> names) {
  std::sort(names.begin(), names.end());
  const auto repeated = std::adjacent_find(names.begin(), names.end());
  return repeated == names.end() ? std::nullopt : std::optional(*repeated);
}

}  // namespace safetensors
}  // namespace rcap
