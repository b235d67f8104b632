#include "rcap/core/workers.hpp"

#include <atomic>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>

#include "core/chunks.hpp"

namespace rcap {
namespace {

TEST(Workers, VisitEveryChunkOnceInPassAfterPass) {
  for (const int threads : {1, 2, 7}) {
    const Workers workers(threads);
    for (int pass = 0; pass < 200; ++pass) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(pass));
      workers.for_each_chunk(pass, [&](std::int64_t chunk, int worker) {
        EXPECT_LT(worker, threads);
        ++visits[static_cast<std::size_t>(chunk)];
      });
      for (const auto& count : visits) ASSERT_EQ(count, 1);
    }
  }
}

TEST(Workers, ShareTheWork) {
  // Each chunk waits for the other: one thread alone would never end.
  const Workers workers(2);
  std::atomic<int> arrived{0};
  workers.for_each_chunk(2, [&](std::int64_t, int) {
    ++arrived;
    while (arrived < 2) {
    }
  });
  EXPECT_EQ(arrived, 2);
}

TEST(Workers, BringAnExceptionToTheCallerAndGoOn) {
  for (const int threads : {1, 3}) {
    const Workers workers(threads);
    EXPECT_THROW(workers.for_each_chunk(50,
                                        [](std::int64_t chunk, int) {
                                          if (chunk == 20) throw std::runtime_error("chunk 20");
                                        }),
                 std::runtime_error);
    std::atomic<int> visits{0};
    workers.for_each_chunk(10, [&](std::int64_t, int) { ++visits; });
    EXPECT_EQ(visits, 10);
  }
}

TEST(Workers, StartAgainInAForkedProcess) {
  const Workers workers(2);
  std::atomic<int> visits{0};
  const auto count_visit = [&](std::int64_t, int) { ++visits; };
  workers.for_each_chunk(10, count_visit);
  const pid_t child = ::fork();
  if (child == 0) {
    workers.for_each_chunk(10, count_visit);
    ::_exit(visits == 20 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  workers.for_each_chunk(10, count_visit);
  EXPECT_EQ(visits, 20);
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
