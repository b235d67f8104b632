#include "core/parallel.hpp"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>

namespace rcap {
namespace {

TEST(ForEachChunk, VisitsEveryChunkOnce) {
  for (const int threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> visits(100);
    for_each_chunk(100, threads, [&](std::int64_t chunk, int worker) {
      EXPECT_LT(worker, threads);
      ++visits[static_cast<std::size_t>(chunk)];
    });
    for (const auto& count : visits) EXPECT_EQ(count, 1);
  }
}

TEST(ForEachChunk, BringsAnExceptionToTheCaller) {
  for (const int threads : {1, 3}) {
    EXPECT_THROW(for_each_chunk(50, threads,
                                [](std::int64_t chunk, int) {
                                  if (chunk == 20) throw std::runtime_error("chunk 20");
                                }),
                 std::runtime_error);
  }
}

TEST(Chunks, CoverTheRangeWithoutOverlap) {
  const Chunks chunks{10, 4};
  EXPECT_EQ(chunks.size(), 3);
  EXPECT_EQ(chunks.end(0), chunks.begin(1));
  EXPECT_EQ(chunks.end(1), chunks.begin(2));
  EXPECT_EQ(chunks.end(2), 10);
}

}  // namespace
}  // namespace rcap
