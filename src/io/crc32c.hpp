#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rcap::io {

/// CRC-32C (Castagnoli): reflected polynomial 0x82F63B78, all ones before and after.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;

}  // namespace rcap::io
