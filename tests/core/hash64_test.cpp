#include "core/hash64.hpp"

#include <numeric>
#include <vector>

#define XXH_INLINE_ALL
#include <gtest/gtest.h>
#include <xxhash.h>

namespace rcap {
namespace {

std::vector<std::uint8_t> some_bytes(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{3});
  return bytes;
}

TEST(Hash64, IsXxh64ForEveryLength) {
  for (std::size_t length = 0; length < 200; ++length) {
    const auto bytes = some_bytes(length);
    Hash64 hash;
    hash.add(bytes.data(), bytes.size());
    EXPECT_EQ(hash.value(), XXH64(bytes.data(), bytes.size(), 0)) << length;
  }
}

TEST(Hash64, DoesNotDependOnThePieces) {
  const auto bytes = some_bytes(1000);
  const std::uint64_t expected = XXH64(bytes.data(), bytes.size(), 0);
  for (std::size_t piece = 1; piece < 100; ++piece) {
    Hash64 hash;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      hash.add(bytes.data() + at, std::min(piece, bytes.size() - at));
    }
    EXPECT_EQ(hash.value(), expected) << piece;
  }
}

TEST(Hash64, CanBeAskedOnTheWay) {
  Hash64 hash;
  hash.add("abc", 3);
  EXPECT_EQ(hash.value(), XXH64("abc", 3, 0));
  hash.add("def", 3);
  EXPECT_EQ(hash.value(), XXH64("abcdef", 6, 0));
}

}  // namespace
}  // namespace rcap
