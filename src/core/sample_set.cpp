#include "rcap/core/sample_set.hpp"

#include <algorithm>

#include "core/chunks.hpp"
#include "core/set_bits.hpp"

namespace rcap {
namespace {

constexpr std::int64_t WordsPerChunk = 1 << 9;

}  // namespace

SampleSet SampleSet::all(std::int64_t sample_count) {
  SampleSet set(sample_count);
  std::ranges::fill(set.words_, ~std::uint64_t{0});
  if (sample_count % 64 != 0) set.words_.back() >>= 64 - sample_count % 64;
  return set;
}

std::int64_t SampleSet::count() const noexcept { return count_bits(words_); }

std::vector<SampleId> SampleSet::ids(const Workers& workers) const {
  std::vector<SampleId> ids;
  list_ids(ids, workers);
  return ids;
}

void SampleSet::list_ids(std::vector<SampleId>& ids, const Workers& workers) const {
  const Chunks chunks{static_cast<std::int64_t>(words_.size()), WordsPerChunk};
  const auto words_of = [&](std::int64_t chunk) {
    return words().subspan(static_cast<std::size_t>(chunks.begin(chunk)),
                           static_cast<std::size_t>(chunks.end(chunk) - chunks.begin(chunk)));
  };
  std::vector<std::int64_t> first(static_cast<std::size_t>(chunks.size()) + 1);
  for (std::int64_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const auto c = static_cast<std::size_t>(chunk);
    first[c + 1] = first[c] + count_bits(words_of(chunk));
  }
  ids.resize(static_cast<std::size_t>(first.back()));
  workers.for_each_chunk(chunks.size(), [&](std::int64_t chunk, int) {
    SampleId* out = ids.data() + first[static_cast<std::size_t>(chunk)];
    SampleId first_id = chunks.begin(chunk) * 64;
    for (auto rest = words_of(chunk); !rest.empty();) {
      const auto block = rest.first(std::min(SetBits::MostWords, rest.size()));
      for (const std::uint16_t place : SetBits(block)) *out++ = first_id + place;
      first_id += static_cast<SampleId>(64 * block.size());
      rest = rest.subspan(block.size());
    }
  });
}

void SampleSet::subtract(const SampleSet& other) noexcept {
  std::ranges::transform(words_, other.words_, words_.begin(),
                         [](std::uint64_t a, std::uint64_t b) { return a & ~b; });
}

void SampleSet::unite(const SampleSet& other) noexcept {
  std::ranges::transform(words_, other.words_, words_.begin(),
                         [](std::uint64_t a, std::uint64_t b) { return a | b; });
}

}  // namespace rcap
