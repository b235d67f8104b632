#include "portable/portable_cases.hpp"

#include <bit>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "core/all_methods.hpp"
#include "core/hash64.hpp"
#include "rcap/core/scorers/divergence_scorer.hpp"
#include "rcap/core/scorers/el2n_scorer.hpp"
#include "rcap/core/scorers/forgetting_scorer.hpp"
#include "rcap/core/scorers/margin_scorer.hpp"
#include "rcap/core/scorers/recall_scorer.hpp"
#include "rcap/core/scorers/uncertainty_scorer.hpp"
#include "rcap/core/training_order.hpp"

namespace rcap::portable {
namespace {

static_assert(std::numeric_limits<double>::is_iec559 && std::numeric_limits<float>::is_iec559);

constexpr std::int64_t Epochs = 4;
constexpr int ScorerCases = CaseCount / 8;

/// The numbers that a case is made from.
class Numbers {
 public:
  explicit Numbers(int case_number) : stream_(2025, Purpose::Synthetic, case_number) {}

  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(stream_.below(static_cast<std::uint64_t>(bound), next_++));
  }
  template <class Value, std::size_t Count>
  Value one_of(const Value (&values)[Count]) {
    return values[static_cast<std::size_t>(below(Count))];
  }
  /// From 0 to below 1 in steps of 2^-24.
  float part() { return static_cast<float>(below(1 << 24)) * 0x1p-24F; }

 private:
  RandomStream stream_;
  SampleId next_ = 0;
};

class Hasher {
 public:
  template <class Value>
  void add(std::span<const Value> values) {
    const std::uint64_t count = values.size();
    hash_.add(&count, sizeof count);
    hash_.add(values.data(), values.size_bytes());
  }
  template <class Value>
  void add(const std::vector<Value>& values) {
    add(std::span<const Value>(values));
  }
  [[nodiscard]] std::uint64_t value() const { return hash_.value(); }

 private:
  Hash64 hash_;
};

/// Even, long-tailed, or one large class and many small ones; in order or mixed. Some classes may
/// be empty.
std::vector<int> make_labels(Numbers& numbers, std::int64_t sample_count, ClassId class_count) {
  const std::int64_t shape = numbers.below(3);
  const bool in_order = numbers.below(2) == 0;
  std::vector<int> labels;
  for (std::int64_t i = 0; i < sample_count; ++i) {
    std::int64_t label = in_order ? i * class_count / sample_count : numbers.below(class_count);
    if (shape == 1) label = label * label / class_count;
    if (shape == 2 && numbers.below(8) != 0) label = 0;
    labels.push_back(static_cast<int>(label));
  }
  return labels;
}

/// A loss of a kind of data: each is one or two multiplications, which round the same everywhere.
float make_loss(Numbers& numbers, std::int64_t kind, std::int64_t epoch) {
  const float part = numbers.part();
  const float scale = 1.0F / static_cast<float>(epoch + 2);
  switch (kind) {
    case 0:
      return part * 4.0F;
    case 1:  // most are small, and fall
      return part * numbers.part() * numbers.part() * scale * 16.0F;
    case 2:  // ties
      return static_cast<float>(static_cast<int>(part * 4.0F));
    case 3:
      return 0.0F;
    case 4:  // outliers and zeros
      return part < 0.01F ? 1e30F : part < 0.5F ? 0.0F : part;
    case 5:  // denormal
      return part * 1e-40F;
    default:
      return part < 0.2F   ? 0.0F
             : part < 0.4F ? std::numeric_limits<float>::denorm_min()
             : part < 0.5F ? std::numeric_limits<float>::max()
                           : part * numbers.part() * 100.0F;
  }
}

std::vector<float> make_losses(Numbers& numbers, std::size_t count, std::int64_t kind,
                               std::int64_t epoch) {
  std::vector<float> losses;
  for (std::size_t i = 0; i < count; ++i) losses.push_back(make_loss(numbers, kind, epoch));
  return losses;
}

PrunerOptions make_options(Numbers& numbers, const Variant& variant, const ClassIndex& classes) {
  PrunerOptions options = options_for(classes);
  options.common.seed = static_cast<std::uint64_t>(numbers.below(1'000'000'007));
  options.common.pruning_rate = numbers.one_of({0.0, 0.25, 0.5, 0.7, 0.8, 0.9, 0.99});
  for (double& recall : options.recalls) recall = numbers.part();
  options.common.threads =
      numbers.below(8) == 0 ? 3 : 1;  // starting them takes longer than the rest
  options.rcap.beta = numbers.one_of({1.0, 1.0, 0.001, 0.3, 2.0, 7.0, 1000.0});
  options.rcap.robust.allowance = numbers.one_of({0.0, 0.1, 1.0});
  options.rcap.robust.focus = numbers.one_of({1.0, 1.5, 3.0});
  options.rcap.robust.lift = numbers.one_of({1.0, 2.0, 10.0});
  if (numbers.below(3) == 0) options.rcap.robust.unbias = numbers.one_of({2.0, 10.0});
  variant.adjust(options);
  return options;
}

/// Seven eighths of the selection; the others keep what they had.
void observe(Pruner& pruner, Numbers& numbers, const Selection& selection, std::int64_t kind) {
  const std::size_t count = selection.ids.size() - selection.ids.size() / 8;
  const std::vector<SampleId> ids(selection.ids.begin(), selection.ids.begin() + count);
  pruner.observe(ids, make_losses(numbers, count, kind, selection.epoch));
  if (!pruner.refreshes()) return;
  const std::vector<SampleId>& left_out = selection.refresh_ids;
  pruner.observe_refreshed(left_out, make_losses(numbers, left_out.size(), kind, selection.epoch));
}

void observe_all(Pruner& pruner, Numbers& numbers, std::int64_t kind) {
  std::vector<SampleId> ids(static_cast<std::size_t>(pruner.classes().sample_count()));
  std::iota(ids.begin(), ids.end(), 0);
  pruner.observe(ids, make_losses(numbers, ids.size(), kind, -1));
}

Case run_method(int number) {
  static const std::vector<Variant> variants = all_variants();
  Numbers numbers(number);
  const Variant& variant = variants[static_cast<std::size_t>(number) % variants.size()];
  const auto class_count = static_cast<ClassId>(numbers.one_of({1, 2, 3, 10, 37, 100, 400}));
  const bool is_large = number % 100 == 99;  // enough for threads to share, and bins to matter
  const std::int64_t sample_count = is_large ? 150'000 + numbers.below(50'000)
                                             : class_count + numbers.one_of({0, 7, 60, 500, 3000});
  const std::int64_t kind = numbers.below(7);
  const auto classes = std::make_shared<const ClassIndex>(
      make_labels(numbers, sample_count, class_count), class_count);
  PrunerOptions options = make_options(numbers, variant, *classes);
  if (is_large) options.common.threads = 2;
  const auto pruner = make_pruner(variant.method, classes, options);
  if (pruner->needs_initial_losses() || (pruner->takes_initial_losses() && numbers.below(2) == 0)) {
    observe_all(*pruner, numbers, kind);
  }
  Hasher selections;
  Hasher orders;
  Hasher weights;
  for (std::int64_t epoch = 0; epoch < Epochs; ++epoch) {
    const Selection& selection = pruner->select(epoch);
    selections.add(selection.ids);
    selections.add(selection.refresh_ids);
    weights.add(selection.weights);
    orders.add(in_training_order(selection, options.common.seed).ids);
    observe(*pruner, numbers, selection, kind);
  }
  Hasher state;
  state.add(pruner->state());
  return {variant.name + ", " + std::to_string(sample_count) + " samples, " +
              std::to_string(class_count) + " classes, losses of kind " + std::to_string(kind),
          {{selections.value(), orders.value(), weights.value(), state.value()}}};
}

std::vector<float> make_logits(Numbers& numbers, std::size_t count) {
  std::vector<float> logits;
  for (std::size_t i = 0; i < count; ++i) logits.push_back(numbers.part() * 32.0F - 16.0F);
  return logits;
}

/// They add up to 1, since each is a multiple of 2^-10.
std::vector<float> make_probabilities(Numbers& numbers, std::size_t rows, ClassId class_count) {
  std::vector<float> probabilities;
  for (std::size_t i = 0; i < rows; ++i) {
    std::int64_t left = 1024;
    for (ClassId k = 0; k < class_count; ++k) {
      const std::int64_t taken = k + 1 == class_count ? left : numbers.below(left + 1);
      probabilities.push_back(static_cast<float>(taken) * 0x1p-10F);
      left -= taken;
    }
  }
  return probabilities;
}

/// The scorers, and the samples that their methods choose.
Case run_scorers(int number) {
  Numbers numbers(number);
  const auto class_count = static_cast<ClassId>(2 + numbers.below(12));
  const std::int64_t sample_count = class_count + numbers.one_of({3, 40, 300});
  const std::vector<int> labels = make_labels(numbers, sample_count, class_count);
  const auto classes = std::make_shared<const ClassIndex>(labels, class_count);
  std::vector<SampleId> ids(static_cast<std::size_t>(sample_count));
  std::iota(ids.begin(), ids.end(), 0);
  MarginScorer margins(classes);
  DivergenceScorer divergences(classes, {.epochs = 6, .window = 4});
  RecallScorer recalls(class_count);
  El2nScorer el2n(classes, {.first_epoch = 2, .last_epoch = 5});
  ForgettingScorer forgetting(classes);
  UncertaintyScorer uncertainty(sample_count, {.window = 3, .dual_epochs = 5});
  for (int epoch = 0; epoch < 6; ++epoch) {
    margins.add(ids, make_logits(numbers, ids.size() * static_cast<std::size_t>(class_count)));
    const std::vector<float> probabilities = make_probabilities(numbers, ids.size(), class_count);
    divergences.add(ids, probabilities);
    divergences.end_epoch();
    el2n.add(ids, probabilities);
    el2n.end_epoch();
    std::vector<ClassId> predictions;
    for (const int label : labels) {
      const bool is_right = numbers.below(3) != 0;
      predictions.push_back(is_right ? label : static_cast<ClassId>(numbers.below(class_count)));
    }
    recalls.add(labels, predictions);
    recalls.end_epoch();
    forgetting.add(ids, predictions);
    forgetting.end_epoch();
    uncertainty.add(ids, make_losses(numbers, ids.size(), 1, epoch));
    uncertainty.end_epoch();
  }
  PrunerOptions options;
  options.common.seed = static_cast<std::uint64_t>(number);
  options.common.pruning_rate = numbers.one_of({0.3, 0.5, 0.7, 0.9});
  Hasher selections;
  Hasher scores;
  const auto choose = [&](const char* method) {
    selections.add(make_pruner(method, classes, options)->select(0).ids);
  };
  options.scores = margins.scores();
  scores.add(options.scores);
  choose("ccs");
  options.scores = divergences.scores();
  scores.add(options.scores);
  choose("tdds");
  options.scores = el2n.scores();
  scores.add(options.scores);
  choose("el2n");
  options.scores = forgetting.scores();
  scores.add(options.scores);
  choose("forgetting");
  options.scores = uncertainty.uncertainties();
  scores.add(options.scores);
  choose("dyn-unc");
  options.scores = uncertainty.dual_scores();
  options.mean_probabilities = uncertainty.mean_probabilities();
  scores.add(options.scores);
  scores.add(options.mean_probabilities);
  choose("dual");
  options.recalls = recalls.recalls();
  scores.add(options.recalls);
  choose("metriq");
  return {"scorers, " + std::to_string(sample_count) + " samples, " + std::to_string(class_count) +
              " classes",
          {{selections.value(), 0, 0, scores.value()}}};
}

}  // namespace

Case run_case(int number) {
  return number < ScorerCases ? run_scorers(number) : run_method(number);
}

}  // namespace rcap::portable
