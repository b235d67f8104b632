#include "core/sample_weights.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>

#include "core/inclusion.hpp"
#include "core/member_blocks.hpp"
#include "core/together.hpp"
#include "core/token_weight.hpp"

namespace rcap {
namespace {

/// The most that a sample counts beside the others of its class: one that was drawn against the
/// odds must not be all that a step sees.
constexpr double MostInClass = 10;

/// What the samples of a class are multiplied by, and at most come to.
struct Factor {
  float factor = 1;
  float most = 1;
};

/// @param sums  of the weights of each class so far
std::vector<Factor> factors_of(std::span<const double> sums, const ClassWeighing& weighing) {
  const auto count = [&](std::size_t j) { return static_cast<double>(weighing.counts[j]); };
  const auto lift = [&](std::size_t j) { return static_cast<double>(weighing.lifts[j]); };
  double samples = 0;
  double lifted = 0;
  for (std::size_t j = 0; j < sums.size(); ++j) {
    samples += count(j);
    lifted += lift(j) * count(j);
  }
  std::vector<Factor> factors(sums.size());
  for (std::size_t j = 0; j < sums.size(); ++j) {
    if (weighing.counts[j] == 0) continue;
    const double of_class = lift(j) * samples / lifted;
    factors[j] = {static_cast<float>(of_class * count(j) / sums[j]),
                  static_cast<float>(of_class * MostInClass)};
  }
  return factors;
}

/// The same where each sample had 1 so far.
std::vector<Factor> factors_of_classes(const ClassWeighing& weighing) {
  return factors_of(std::vector<double>(weighing.counts.begin(), weighing.counts.end()), weighing);
}

/// Of all shards.
void divide_by_mean(const Shard& shard, std::span<const SampleId> ids, const TokenWeight& tokens,
                    std::span<float> weights) {
  const double sum = in_turn(shard, 0.0, [&](double& sum_so_far) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      sum_so_far += tokens(ids[i]) * static_cast<double>(weights[i]);
    }
  });
  double token_count = 0;
  for (const SampleId id : ids) token_count += tokens(id);
  const double mean = sum / static_cast<double>(shard.sum(static_cast<std::int64_t>(token_count)));
  for (float& weight : weights) weight = static_cast<float>(static_cast<double>(weight) / mean);
}

bool all_are(std::span<const float> values, float value) {
  return std::ranges::all_of(values, [value](float x) { return x == value; });
}

/// The drawn samples, in short stretches. Their losses and labels lie all over the memory and take
/// longer to fetch than everything else.
template <class Label>
class DrawnSamples {
 public:
  DrawnSamples(const ClassIndex& classes, std::span<const Label> labels,
               std::span<const SampleId> ids, const Workers& workers)
      : classes_(classes),
        shard_(classes.shard()),
        labels_(labels.data()),
        tokens_(classes),
        ids_(ids),
        class_count_(classes.class_count()),
        chunks_(chunks_for_sums(std::ssize(ids), std::ssize(ids), class_count_)),
        workers_(workers) {}

  /// Finds one over the chance of each sample.
  void find_chances(const FreshDraw& draw, std::span<InverseChance> inverses) const {
    for_each_stretch([&](const Stretch& stretch) { find_chances_of(stretch, draw, inverses); });
  }

  /// The weights where samples of one class weigh the same.
  /// @param draw  to find `inverses` with; nullptr where they are known
  void weigh_classes(const FreshDraw* draw, std::span<InverseChance> inverses,
                     std::span<const Factor> factors, std::span<float> weights) const {
    for_each_stretch([&](const Stretch& stretch) {
      if (draw != nullptr) find_chances_of(stretch, *draw, inverses);
      float* weight = weights.data() + stretch.first;
      for (std::size_t i = 0; i < stretch.count; ++i) {
        weight[i] = factors[class_of(stretch, i)].factor;
      }
    });
  }

  /// The weights of any samples.
  void weigh(const FreshDraw* draw, std::span<InverseChance> inverses,
             const ClassWeighing& weighing, std::span<float> weights) const {
    const std::vector<double> sums = raise(draw, inverses, weighing.exponents, weights);
    const bool is_held_back = multiply(factors_of(sums, weighing), weights);
    if (shard_.any(is_held_back)) divide_by_mean(shard_, ids_, tokens_, weights);
  }

 private:
  /// Some samples.
  struct Stretch {
    std::size_t first, count;
    const SampleId* ids;
  };

  [[nodiscard]] std::size_t class_of(const Stretch& stretch, std::size_t i) const {
    return labels_[stretch.ids[i]];
  }

  /// Calls `f` with the stretches of these places, in order.
  template <class F>
  void for_each_stretch(std::int64_t begin, std::int64_t end, const F& f) const {
    for (auto first = static_cast<std::size_t>(begin); first < static_cast<std::size_t>(end);) {
      const Stretch stretch{first, std::min(BlockSamples, static_cast<std::size_t>(end) - first),
                            ids_.data() + first};
      f(stretch);
      first += stretch.count;
    }
  }

  /// Calls `f` with all stretches.
  template <class F>
  void for_each_stretch(const F& f) const {
    workers_.for_each_chunk(chunks_.size(), [&](std::int64_t chunk, int) {
      for_each_stretch(chunks_.begin(chunk), chunks_.end(chunk), f);
    });
  }

  void find_chances_of(const Stretch& stretch, const FreshDraw& draw,
                       std::span<InverseChance> inverses) const {
    const float* losses = draw.weights.losses.data();
    const double* thresholds = draw.thresholds.data();
    const double per_loss = 1 / draw.weights.beta;
    const auto threshold = [&](std::size_t i) {
      const std::size_t of_class = class_of(stretch, i);
      if (draw.by_length == nullptr) return thresholds[of_class];
      const SampleId id = stretch.ids[i];
      const bool is_certain = draw.candidates != nullptr && !draw.candidates->contains(id);
      return is_certain ? -std::numeric_limits<double>::infinity()
                        : draw.by_length->of(of_class, classes_.length_of(id));
    };
    float x[BlockSamples];
    for (std::size_t i = 0; i < stretch.count; ++i) {
      x[i] =
          static_cast<float>(static_cast<double>(losses[stretch.ids[i]]) * per_loss - threshold(i));
    }
    inverse_chances(x, stretch.count, inverses.data() + stretch.first);
  }

  /// Raises one over each chance to the power of its class; their sum over each class.
  [[nodiscard]] std::vector<double> raise(const FreshDraw* draw, std::span<InverseChance> inverses,
                                          std::span<const float> exponents,
                                          std::span<float> weights) const {
    const std::vector<std::int64_t> begins = shard_.begins_of(std::ssize(ids_));
    const std::int64_t before = begins[static_cast<std::size_t>(shard_.rank())];
    const auto raise_stretch = [&](const Stretch& stretch, double* sum) {
      if (draw != nullptr) find_chances_of(stretch, *draw, inverses);
      float exponent[BlockSamples] = {};
      for (std::size_t i = 0; i < stretch.count; ++i) exponent[i] = exponents[class_of(stretch, i)];
      float* raised = weights.data() + stretch.first;
      powers(inverses.data() + stretch.first, exponent, stretch.count, raised);
      for (std::size_t i = 0; i < stretch.count; ++i) {
        sum[class_of(stretch, i)] += tokens_(stretch.ids[i]) * static_cast<double>(raised[i]);
      }
    };
    return sum_rows<double>(shard_, chunks_for_sums(begins.back(), begins.back(), class_count_),
                            begins, static_cast<std::size_t>(class_count_), workers_,
                            [&](std::int64_t begin, std::int64_t end, double* sum) {
                              for_each_stretch(
                                  begin - before, end - before,
                                  [&](const Stretch& stretch) { raise_stretch(stretch, sum); });
                            });
  }

  /// Whether one was held back.
  [[nodiscard]] bool multiply(std::span<const Factor> factors, std::span<float> weights) const {
    std::atomic<bool> is_held_back = false;
    for_each_stretch([&](const Stretch& stretch) {
      float most_over = 0;
      float* weight = weights.data() + stretch.first;
      for (std::size_t i = 0; i < stretch.count; ++i) {
        const Factor& of_class = factors[class_of(stretch, i)];
        const float multiplied = weight[i] * of_class.factor;
        most_over = std::max(most_over, multiplied - of_class.most);
        weight[i] = std::min(multiplied, of_class.most);
      }
      if (most_over > 0) is_held_back = true;
    });
    return is_held_back;
  }

  const ClassIndex& classes_;
  const Shard& shard_;
  const Label* labels_;
  TokenWeight tokens_;
  std::span<const SampleId> ids_;
  std::int64_t class_count_;
  Chunks chunks_;
  const Workers& workers_;
};

}  // namespace

bool alike_in_classes(const ClassWeighing& weighing) { return all_are(weighing.exponents, 0); }

std::vector<double> sum_alike_weights(const ClassWeighing& weighing) {
  const std::vector<Factor> factors = factors_of_classes(weighing);
  std::vector<double> sums(factors.size());
  for (std::size_t j = 0; j < sums.size(); ++j) {
    sums[j] = static_cast<double>(weighing.counts[j]) * static_cast<double>(factors[j].factor);
  }
  return sums;
}

void weigh_samples(const ClassIndex& classes, std::span<const SampleId> ids, const FreshDraw* draw,
                   std::span<InverseChance> inverses, const ClassWeighing& weighing,
                   const Workers& workers, std::vector<float>& weights) {
  const bool alike_in_class = alike_in_classes(weighing);
  const bool all_are_one = alike_in_class && all_are(weighing.lifts, 1);
  weights.resize(all_are_one ? 0 : ids.size());
  classes.visit([&](auto labels) {
    const DrawnSamples drawn(classes, labels, ids, workers);
    if (all_are_one) {
      if (draw != nullptr) drawn.find_chances(*draw, inverses);
    } else if (alike_in_class) {
      drawn.weigh_classes(draw, inverses, factors_of_classes(weighing), weights);
    } else {
      drawn.weigh(draw, inverses, weighing, weights);
    }
  });
}

}  // namespace rcap
