// Promise 7: at most 16 bytes a sample, and observing allocates nothing.

#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>

#include <gmock/gmock.h>
#include <malloc.h>

#include "rcap/core/make_pruner.hpp"
#include "rcap/core/random_stream.hpp"

namespace {

std::atomic<std::int64_t> live_bytes{0};
std::atomic<std::int64_t> peak_bytes{0};
std::atomic<std::int64_t> allocations{0};

}  // namespace

void* operator new(std::size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  ++allocations;
  const std::int64_t now = live_bytes += static_cast<std::int64_t>(::malloc_usable_size(memory));
  std::int64_t peak = peak_bytes;
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
  }
  return memory;
}

void operator delete(void* memory) noexcept {
  if (memory != nullptr) live_bytes -= static_cast<std::int64_t>(::malloc_usable_size(memory));
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace rcap {
namespace {

constexpr SampleId Samples = 1'000'000;

std::shared_ptr<const ClassIndex> thousand_classes() {
  const RandomStream random(0, Purpose::Synthetic, 0);
  std::vector<std::uint16_t> labels;
  for (SampleId id = 0; id < Samples; ++id) {
    labels.push_back(static_cast<std::uint16_t>(random.below(1000, id)));
  }
  return std::make_shared<const ClassIndex>(labels);
}

TEST(Memory, SelectingAndObservingTakesAtMost16BytesASample) {
  std::vector<SampleId> everything(Samples);
  std::iota(everything.begin(), everything.end(), 0);
  const std::vector<float> losses(Samples, 2.0F);
  for (const double rate : {0.5, 0.9}) {
    const std::int64_t before = live_bytes;
    const auto classes = thousand_classes();
    PrunerOptions options;
    options.common.pruning_rate = rate;
    options.common.threads = 2;
    const auto pruner = make_pruner("rcap", classes, options);
    pruner->observe(everything, losses);
    peak_bytes = live_bytes.load();
    for (int epoch = 0; epoch < 3; ++epoch) {
      const Selection& selection = pruner->select(epoch);
      const std::int64_t allocated = allocations;
      pruner->observe(selection.ids, std::span(losses).first(selection.ids.size()));
      EXPECT_EQ(allocations, allocated);
    }
    const auto bytes_a_sample =
        static_cast<double>(peak_bytes - before) / static_cast<double>(Samples);
    EXPECT_LE(bytes_a_sample, 16.0) << "rate " << rate;
    EXPECT_GE(bytes_a_sample, 6.0) << "labels and losses alone take six";
  }
}

}  // namespace
}  // namespace rcap
