// The budget is exact and no sample comes twice: 10,000 random cases.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>

#include "rcap/core/class_budget.hpp"
#include "rcap/core/make_pruner.hpp"
#include "rcap/core/random_stream.hpp"

namespace rcap {
namespace {

#if defined(RCAP_SANITIZED)
constexpr int Cases = 300;  // each twenty times as slow
#else
constexpr int Cases = 10'000;
#endif

/// A source of numbers for one case.
class CaseRandom {
 public:
  explicit CaseRandom(int case_number) : stream_(77, Purpose::Synthetic, case_number) {}
  double uniform() { return stream_.uniform(next_++); }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(
                     stream_.below(static_cast<std::uint64_t>(high - low + 1), next_++));
  }
  /// Between 1 and `high`, small numbers as likely as large ones.
  std::int64_t scale_free(std::int64_t high) {
    return static_cast<std::int64_t>(std::exp(uniform() * std::log(static_cast<double>(high) + 1)));
  }

 private:
  RandomStream stream_;
  SampleId next_ = 0;
};

std::vector<int> random_labels(CaseRandom& random, int class_count) {
  // Sizes from 0 to 10^5 each, about that many in all.
  const std::int64_t largest = std::max<std::int64_t>(1, 100'000 / random.scale_free(class_count));
  std::vector<int> labels;
  for (int j = 0; j < class_count && labels.size() < 100'000; ++j) {
    const std::int64_t size = random.uniform() < 0.1 ? 0 : random.scale_free(largest);
    labels.insert(labels.end(), static_cast<std::size_t>(size), j);
  }
  if (labels.empty()) labels.push_back(0);
  return labels;
}

float random_loss(CaseRandom& random, int kind) {
  const double u = random.uniform();
  switch (kind) {
    case 0:
      return static_cast<float>(-std::log(u));
    case 1:  // ties
      return std::floor(static_cast<float>(4 * u));
    case 2:
      return 0;
    case 3:  // outliers and zeros
      return u < 0.01 ? 1e30F : u < 0.5 ? 0.0F : static_cast<float>(u);
    case 4:  // denormals
      return static_cast<float>(u) * 1e-40F;
    default:  // everything at once
      return u < 0.2   ? 0.0F
             : u < 0.4 ? std::numeric_limits<float>::denorm_min()
             : u < 0.6 ? std::numeric_limits<float>::max()
                       : static_cast<float>(std::exp(100 * u - 50));
  }
}

/// A class share of any kind, and a method that has it.
std::string_view choose_share(CaseRandom& random, std::size_t class_count, PrunerOptions& options) {
  constexpr auto Rules = static_cast<int>(ShareRule::Bandit) + 1;
  ShareOptions share;
  share.loss_power = random.uniform() < 0.5 ? 0 : 2 * random.uniform();
  share.eta = std::exp(std::log(1e6) * random.uniform() - std::log(1e3));
  share.epochs = random.between(1, 3);
  share.reference_losses.assign(class_count, random.uniform());
  options.rcap.share = share;
  options.balanced.share = share;
  options.rcap.class_share =
      static_cast<ClassShare>(random.between(0, static_cast<int>(ClassShare::Power) + Rules - 1));
  options.balanced.class_share = static_cast<BalancedShare>(random.between(0, Rules));
  return random.uniform() < 0.7 ? "rcap" : "balanced";
}

TEST(Exactness, BudgetErrorIsZeroAndNoSampleComesTwice) {
  for (int case_number = 0; case_number < Cases; ++case_number) {
    SCOPED_TRACE(case_number);
    CaseRandom random(case_number);
    const auto class_count = static_cast<int>(random.scale_free(5'000));
    const auto classes =
        std::make_shared<const ClassIndex>(random_labels(random, class_count), class_count);
    PrunerOptions options;
    options.common.pruning_rate = random.uniform() < 0.1 ? 0.0 : 0.999 * random.uniform();
    options.common.seed = static_cast<std::uint64_t>(case_number);
    options.rcap.beta = std::exp(std::log(1e6) * random.uniform() - std::log(1e3));
    const std::string_view method =
        choose_share(random, static_cast<std::size_t>(class_count), options);
    const auto pruner = make_pruner(method, classes, options);

    const auto loss_kind = static_cast<int>(random.between(0, 5));
    std::vector<SampleId> ids(static_cast<std::size_t>(classes->sample_count()));
    std::iota(ids.begin(), ids.end(), 0);
    std::vector<float> losses;
    for (std::size_t i = 0; i < ids.size(); ++i) losses.push_back(random_loss(random, loss_kind));
    if (pruner->takes_initial_losses()) pruner->observe(ids, losses);

    for (int epoch = 0; epoch < 2; ++epoch) {
      const Selection& selection = pruner->select(epoch);
      const double kept = (1 - options.common.pruning_rate) * static_cast<double>(ids.size());
      const auto sizes = classes->class_sizes();
      const std::int64_t lowest = std::ssize(sizes) - std::ranges::count(sizes, 0);
      const auto budget = std::max(lowest, static_cast<std::int64_t>(std::floor(kept + 1e-6)));
      ASSERT_EQ(static_cast<std::int64_t>(selection.ids.size()), budget);
      ASSERT_TRUE(std::ranges::is_sorted(selection.ids));
      ASSERT_EQ(std::ranges::adjacent_find(selection.ids), selection.ids.end());
      const auto counts = classes->count_by_class(selection.ids);
      for (std::size_t j = 0; j < counts.size(); ++j) {
        ASSERT_GE(counts[j], std::min<std::int64_t>(1, classes->class_sizes()[j])) << "class " << j;
      }
      if (!selection.weights.empty()) {
        ASSERT_EQ(selection.weights.size(), selection.ids.size());
        const double sum = std::accumulate(selection.weights.begin(), selection.weights.end(), 0.0);
        ASSERT_NEAR(sum, static_cast<double>(budget), 1e-5 * static_cast<double>(budget));
        ASSERT_GT(*std::ranges::min_element(selection.weights), 0);
      }
      std::vector<float> next(losses.begin(),
                              losses.begin() + static_cast<std::ptrdiff_t>(selection.ids.size()));
      pruner->observe(selection.ids, next);
    }
  }
}

TEST(Exactness, WindowsOfSetaHoldTheBudget) {
  for (int case_number = 0; case_number < Cases; ++case_number) {
    SCOPED_TRACE(case_number);
    CaseRandom random(case_number);
    const std::int64_t size = random.scale_free(20'000);
    const auto classes =
        std::make_shared<const ClassIndex>(std::vector<int>(static_cast<std::size_t>(size), 0));
    PrunerOptions options;
    options.common.pruning_rate = random.uniform() < 0.1 ? 0.0 : 0.999 * random.uniform();
    options.common.seed = static_cast<std::uint64_t>(case_number);
    options.seta.epochs = random.between(1, 40);
    options.seta.groups = random.between(1, 30);
    options.seta.random_pruning = random.uniform() < 0.5 ? 0.0 : 0.999 * random.uniform();
    const auto pruner = make_pruner("seta", classes, options);
    const auto loss_kind = static_cast<int>(random.between(0, 5));
    for (const std::int64_t epoch : {0, 1, 2, 17}) {
      const std::vector<SampleId> ids = pruner->select(epoch).ids;
      ASSERT_EQ(std::ssize(ids), pruner->keep_count()) << "epoch " << epoch;
      ASSERT_EQ(std::ranges::adjacent_find(ids, std::ranges::greater_equal{}), ids.end());
      std::vector<float> losses;
      for (std::size_t i = 0; i < ids.size(); ++i) losses.push_back(random_loss(random, loss_kind));
      pruner->observe(ids, losses);
    }
  }
}

TEST(Exactness, SplitIsTheOptimumOfTheTheorem) {
  // Optimality: with no class over its size, every class that is not full has the same
  // share per weight, and every full class has no more than that.
  for (int case_number = 0; case_number < 2'000; ++case_number) {
    SCOPED_TRACE(case_number);
    CaseRandom random(case_number);
    std::vector<std::int64_t> sizes;
    std::vector<double> weights;
    const std::int64_t class_count = random.scale_free(300);
    for (std::int64_t j = 0; j < class_count; ++j) {
      sizes.push_back(random.between(0, random.scale_free(10'000)));
      weights.push_back(random.uniform() < 0.1 ? 0 : -std::log(random.uniform()));
    }
    const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    const std::int64_t budget = random.between(0, total);
    const auto shares = share_budget(sizes, weights, budget);
    double sum = 0;
    double level = 0;  // share per weight of the classes that are not full
    for (std::size_t j = 0; j < sizes.size(); ++j) {
      sum += shares[j];
      ASSERT_LE(shares[j], static_cast<double>(sizes[j]));
      if (weights[j] > 0 && shares[j] < static_cast<double>(sizes[j])) {
        level = std::max(level, shares[j] / weights[j]);
      }
    }
    ASSERT_NEAR(sum, static_cast<double>(budget), 1e-9 * static_cast<double>(budget) + 1e-9);
    for (std::size_t j = 0; j < sizes.size(); ++j) {
      if (weights[j] == 0 || level == 0) continue;
      if (shares[j] < static_cast<double>(sizes[j])) {
        ASSERT_NEAR(shares[j] / weights[j], level, 1e-9 * level);
      } else {
        ASSERT_LE(static_cast<double>(sizes[j]) / weights[j], level * (1 + 1e-9));
      }
    }
    const auto counts = round_shares(sizes, shares, budget);
    ASSERT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), budget);
  }
}

}  // namespace
}  // namespace rcap
