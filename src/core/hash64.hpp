#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rcap {

/// XXH64 (seed 0) of the bytes added so far, in whatever pieces they come. It detects damage
/// and mix-ups, not forgery.
///
/// Written from the published specification, so that the core needs nothing but a compiler;
/// a test compares it with the xxHash library.
class Hash64 {
 public:
  void add(const void* data, std::size_t byte_count) noexcept {
    const auto* bytes = static_cast<const std::byte*>(data);
    total_ += byte_count;
    if (held_ + byte_count < BlockBytes) return hold(bytes, byte_count);
    if (held_ > 0) {
      const std::size_t missing = BlockBytes - held_;
      hold(bytes, missing);
      take_block(block_.data());
      bytes += missing;
      byte_count -= missing;
      held_ = 0;
    }
    for (; byte_count >= BlockBytes; bytes += BlockBytes, byte_count -= BlockBytes) {
      take_block(bytes);
    }
    hold(bytes, byte_count);
  }

  [[nodiscard]] std::uint64_t value() const noexcept {
    std::uint64_t hash = total_ < BlockBytes ? Prime5 : merged_lanes();
    hash += total_;
    const std::byte* at = block_.data();
    std::size_t left = held_;
    for (; left >= 8; at += 8, left -= 8) {
      hash ^= round(0, read<std::uint64_t>(at));
      hash = std::rotl(hash, 27) * Prime1 + Prime4;
    }
    if (left >= 4) {
      hash ^= std::uint64_t{read<std::uint32_t>(at)} * Prime1;
      hash = std::rotl(hash, 23) * Prime2 + Prime3;
      at += 4;
      left -= 4;
    }
    for (; left > 0; ++at, --left) {
      hash ^= std::to_integer<std::uint64_t>(*at) * Prime5;
      hash = std::rotl(hash, 11) * Prime1;
    }
    return avalanche(hash);
  }

 private:
  static constexpr std::size_t BlockBytes = 32;
  static constexpr std::uint64_t Prime1 = 0x9E3779B185EBCA87ULL;
  static constexpr std::uint64_t Prime2 = 0xC2B2AE3D27D4EB4FULL;
  static constexpr std::uint64_t Prime3 = 0x165667B19E3779F9ULL;
  static constexpr std::uint64_t Prime4 = 0x85EBCA77C2B2AE63ULL;
  static constexpr std::uint64_t Prime5 = 0x27D4EB2F165667C5ULL;

  static_assert(std::endian::native == std::endian::little, "words are read as they lie");

  template <class Word>
  [[nodiscard]] static Word read(const std::byte* at) noexcept {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
  }

  [[nodiscard]] static std::uint64_t round(std::uint64_t lane, std::uint64_t word) noexcept {
    return std::rotl(lane + word * Prime2, 31) * Prime1;
  }

  [[nodiscard]] static std::uint64_t avalanche(std::uint64_t hash) noexcept {
    hash = (hash ^ (hash >> 33)) * Prime2;
    hash = (hash ^ (hash >> 29)) * Prime3;
    return hash ^ (hash >> 32);
  }

  void hold(const std::byte* bytes, std::size_t byte_count) noexcept {
    if (byte_count > 0) std::memcpy(block_.data() + held_, bytes, byte_count);
    held_ += byte_count;
  }

  void take_block(const std::byte* bytes) noexcept {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      lanes_[i] = round(lanes_[i], read<std::uint64_t>(bytes + 8 * i));
    }
  }

  [[nodiscard]] std::uint64_t merged_lanes() const noexcept {
    std::uint64_t hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) +
                         std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) hash = (hash ^ round(0, lane)) * Prime1 + Prime4;
    return hash;
  }

  std::array<std::uint64_t, 4> lanes_{Prime1 + Prime2, Prime2, 0, 0 - Prime1};
  std::array<std::byte, BlockBytes> block_{};
  std::size_t held_ = 0;  ///< bytes of a block that is not whole yet
  std::uint64_t total_ = 0;
};

}  // namespace rcap
