#include "core/sample_weights.hpp"

#include <algorithm>
#include <atomic>
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

/// The drawn samples of a class.
struct Drawn {
  double weight = 0;
  double count = 0;

  Drawn& operator+=(const Drawn& other) {
    weight += other.weight;
    count += other.count;
    return *this;
  }
};

/// What the samples of a class are multiplied by.
struct Factors {
  float in_class = 1;  ///< makes them average 1 in their class
  float of_class = 1;  ///< what the class counts beside all samples
};

std::vector<Factors> factors_of(std::span<const Drawn> drawn, std::span<const float> lifts) {
  Drawn all;
  for (std::size_t j = 0; j < drawn.size(); ++j) {
    all += {static_cast<double>(lifts[j]) * drawn[j].count, drawn[j].count};
  }
  const double mean = all.weight / all.count;
  std::vector<Factors> factors(drawn.size());
  for (std::size_t j = 0; j < drawn.size(); ++j) {
    if (drawn[j].count == 0) continue;
    factors[j] = {static_cast<float>(drawn[j].count / drawn[j].weight),
                  static_cast<float>(static_cast<double>(lifts[j]) / mean)};
  }
  return factors;
}

void divide_by_mean(std::span<float> weights) {
  const double mean =
      std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  for (float& weight : weights) weight = static_cast<float>(static_cast<double>(weight) / mean);
}

bool all_are(std::span<const float> values, float value) {
  return std::ranges::all_of(values, [value](float x) { return x == value; });
}

}  // namespace

void find_inverse_chances(const ClassIndex& classes, std::span<const SampleId> ids,
                          const LossWeights& weights, std::span<const double> thresholds,
                          const Workers& workers, std::span<InverseChance> inverses) {
  const Chunks chunks{std::ssize(ids), 1 << 14};
  const double per_loss = 1 / weights.beta;
  classes.visit([&](auto labels) {
    for_each_stretch(chunks, workers, [&](std::size_t, std::size_t first, std::size_t count) {
      float x[BlockSamples] = {};
      for (std::size_t i = 0; i < count; ++i) {
        const auto id = static_cast<std::size_t>(ids[first + i]);
        x[i] = static_cast<float>(static_cast<double>(weights.losses[id]) * per_loss -
                                  thresholds[labels[id]]);
      }
      inverse_chances(x, count, inverses.data() + first);
    });
  });
}

void weigh_samples(const ClassIndex& classes, std::span<const SampleId> ids,
                   std::span<const InverseChance> inverses, const ClassWeighing& weighing,
                   const Workers& workers, std::vector<float>& weights) {
  if (all_are(weighing.lifts, 1) && all_are(weighing.exponents, 0)) return weights.clear();
  weights.resize(ids.size());
  const auto class_count = static_cast<std::size_t>(classes.class_count());
  const Chunks chunks = chunks_for_sums(std::ssize(ids), std::ssize(ids), classes.class_count());
  std::vector<Drawn> drawn(static_cast<std::size_t>(chunks.size()) * class_count);
  std::atomic<bool> is_held_back = false;
  classes.visit([&](auto labels) {
    for_each_stretch(chunks, workers, [&](std::size_t chunk, std::size_t first, std::size_t count) {
      std::uint32_t class_of[BlockSamples];
      float exponents[BlockSamples] = {};
      for (std::size_t i = 0; i < count; ++i) {
        class_of[i] = labels[static_cast<std::size_t>(ids[first + i])];
        exponents[i] = weighing.exponents[class_of[i]];
      }
      float* weight = weights.data() + first;
      powers(inverses.data() + first, exponents, count, weight);
      Drawn* of_class = drawn.data() + chunk * class_count;
      for (std::size_t i = 0; i < count; ++i) {
        of_class[class_of[i]] += Drawn{static_cast<double>(weight[i]), 1};
      }
    });
    add_rows(drawn, class_count);
    const std::vector<Factors> factors = factors_of(drawn, weighing.lifts);
    for_each_stretch(chunks, workers, [&](std::size_t, std::size_t first, std::size_t count) {
      float highest = 0;
      const Factors* factor = factors.data();
      float* weight = weights.data();
      for (std::size_t i = first; i < first + count; ++i) {
        const Factors& of_class = factor[labels[static_cast<std::size_t>(ids[i])]];
        const float in_class = weight[i] * of_class.in_class;
        highest = std::max(highest, in_class);
        weight[i] = std::min(in_class, MostInClass) * of_class.of_class;
      }
      if (highest > MostInClass) is_held_back = true;
    });
  });
  if (is_held_back) divide_by_mean(weights);
}

}  // namespace rcap
