#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.hpp"

/// What the reader and the writer of safetensors files share.
namespace rcap::safetensors {

static_assert(std::endian::native == std::endian::little,
              "tensors are handed over as they are in the file");

inline constexpr std::size_t LengthBytes = 8;
inline constexpr std::uint64_t LargestHeader = 100'000'000;
inline constexpr std::size_t DataAlignment = 8;
inline constexpr std::string_view MetadataKey = "__metadata__";
inline constexpr std::uint64_t LargestDimension = std::numeric_limits<std::int64_t>::max();

struct TypeRow {
  TensorType type;
  std::string_view name;
  std::size_t bytes;
};

inline constexpr std::array<TypeRow, 10> Types = {{{TensorType::F64, "F64", 8},
                                                   {TensorType::F32, "F32", 4},
                                                   {TensorType::F16, "F16", 2},
                                                   {TensorType::BF16, "BF16", 2},
                                                   {TensorType::I64, "I64", 8},
                                                   {TensorType::I32, "I32", 4},
                                                   {TensorType::I16, "I16", 2},
                                                   {TensorType::I8, "I8", 1},
                                                   {TensorType::U8, "U8", 1},
                                                   {TensorType::Bool, "BOOL", 1}}};

constexpr bool types_stand_at_their_value() {
  for (std::size_t i = 0; i < Types.size(); ++i) {
    if (static_cast<std::size_t>(Types[i].type) != i) return false;
  }
  return true;
}
static_assert(types_stand_at_their_value());

[[nodiscard]] const TypeRow& row_of(TensorType type) noexcept;

/// The bytes of a tensor; empty if they cannot be counted. If one dimension is empty the others
/// must still be countable: strides are computed from them.
[[nodiscard]] std::optional<std::uint64_t> byte_count(std::span<const std::int64_t> shape,
                                                      TensorType type);

/// The position of a byte that is neither 0 nor 1; the size if there is none.
[[nodiscard]] std::size_t first_bad_truth_value(const TensorView& tensor);

/// The tensor of that name, or nullptr.
[[nodiscard]] const TensorView* find_tensor(std::span<const TensorView> tensors,
                                            std::string_view name) noexcept;

/// The first name that appears twice; empty if none does.
[[nodiscard]] std::optional<std::string_view> first_repeated(std::vector<std::string_view> names);

}  // namespace rcap::safetensors
