#include "core/sample_weights.hpp"

#include <algorithm>
#include <numeric>

#include "core/inclusion.hpp"
#include "core/member_blocks.hpp"

namespace rcap {
namespace {

/// The most that a sample counts beside the others of its class: one that was drawn against the
/// odds must not be all that a step sees.
constexpr float MostInClass = 10;

/// Calls `f(chunk, first, count)` for short stretches of [0, count), those of one chunk in order.
template <class F>
void for_each_stretch(const Chunks& chunks, const Workers& workers, const F& f) {
  workers.for_each_chunk(chunks.size(), [&](std::int64_t chunk, int) {
    auto first = static_cast<std::size_t>(chunks.begin(chunk));
    const auto end = static_cast<std::size_t>(chunks.end(chunk));
    for (std::size_t count; first < end; first += count) {
      count = std::min(BlockSamples, end - first);
      f(static_cast<std::size_t>(chunk), first, count);
    }
  });
}

bool all_are(std::span<const float> values, float value) {
  return std::ranges::all_of(values, [value](float x) { return x == value; });
}

}  // namespace

void find_inverse_chances(const ClassIndex& classes, const SampleSet& drawn,
                          const LossWeights& weights, std::span<const double> thresholds,
                          const Workers& workers, std::vector<float>& inverses) {
  inverses.resize(static_cast<std::size_t>(drawn.count()));
  const auto word_count = static_cast<std::int64_t>(drawn.words().size());
  classes.visit([&](auto labels) {
    for_each_member_block(drawn, {word_count, 1 << 8}, workers, [&](const MemberBlock& block) {
      float x[BlockSamples];
      std::size_t count = 0;
      for (const std::uint16_t offset : block.places) {
        const std::size_t id = block.first_id + offset;
        const double loss = static_cast<double>(weights.losses[id]);
        x[count++] = static_cast<float>(loss / weights.beta - thresholds[labels[id]]);
      }
      inverse_chances(x, count, inverses.data() + block.first);
    });
  });
}

void weigh_samples(const ClassIndex& classes, std::span<const SampleId> ids,
                   std::span<const float> inverses, const ClassWeighing& weighing,
                   const Workers& workers, std::vector<float>& weights) {
  if (all_are(weighing.lifts, 1) && all_are(weighing.exponents, 0)) return weights.clear();
  weights.resize(ids.size());
  const auto class_count = static_cast<std::size_t>(classes.class_count());
  const Chunks chunks = chunks_for_sums(std::ssize(ids), std::ssize(ids), classes.class_count());
  std::vector<double> sums(static_cast<std::size_t>(chunks.size()) * class_count);
  std::vector<double> totals(static_cast<std::size_t>(chunks.size()));
  classes.visit([&](auto labels) {
    for_each_stretch(chunks, workers, [&](std::size_t chunk, std::size_t first, std::size_t count) {
      float exponents_of[BlockSamples] = {};
      for (std::size_t i = 0; i < count; ++i) {
        exponents_of[i] = weighing.exponents[labels[static_cast<std::size_t>(ids[first + i])]];
      }
      powers(inverses.data() + first, exponents_of, count, weights.data() + first);
      double* of_class = sums.data() + chunk * class_count;
      for (std::size_t i = first; i < first + count; ++i) {
        of_class[labels[static_cast<std::size_t>(ids[i])]] += static_cast<double>(weights[i]);
      }
    });
    add_rows(sums, class_count);
    for (std::size_t j = 0; j < class_count; ++j) {
      sums[j] /= static_cast<double>(std::max<std::int64_t>(weighing.counts[j], 1));
    }
    for_each_stretch(chunks, workers, [&](std::size_t chunk, std::size_t first, std::size_t count) {
      for (std::size_t i = first; i < first + count; ++i) {
        const std::size_t label = labels[static_cast<std::size_t>(ids[i])];
        const auto in_class = static_cast<float>(static_cast<double>(weights[i]) / sums[label]);
        weights[i] = weighing.lifts[label] * std::min(in_class, MostInClass);
        totals[chunk] += static_cast<double>(weights[i]);
      }
    });
  });
  const double total = std::accumulate(totals.begin(), totals.end(), 0.0);
  const auto scale = static_cast<float>(static_cast<double>(ids.size()) / total);
  for (float& weight : weights) weight *= scale;
}

}  // namespace rcap
