#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rcap/core/class_index.hpp"
#include "rcap/core/export.hpp"
#include "rcap/core/make_pruner.hpp"

RCAP_API_BEGIN
namespace rcap {

/// Whether pruning will help, estimated from labels before anything is trained: what the rules
/// would keep of each class, how much work that saves, and what to try. `docs/advise.md` has the
/// rules of the suggestion.

struct AdviseOptions {
  std::vector<double> pruning_rates = {0.5, 0.7, 0.9};  ///< fractions removed, in any order
  std::int64_t epochs = 60;                             ///< of the planned run
  std::int64_t test_samples = 0;    ///< of each evaluation; 0: evaluations are not counted
  std::int64_t evaluate_every = 0;  ///< epochs; 0: ten times a run. Always after the last one
  std::uint64_t seed = 0;
  int threads = 1;  ///< changes the time, never the result
};

/// Lists all options except the rates, which are a list.
void list_options(OptionFields& fields, AdviseOptions& options);

/// A method, and how it shares its budget over the classes.
struct AdvisedRule {
  std::string_view name;                        ///< as in the studies: "rcap paper"
  std::string_view method;                      ///< "rcap"
  ClassShare class_share = ClassShare::Robust;  ///< if the method is rcap
};

/// The rules that are compared, in the order in which they are shown.
[[nodiscard]] std::span<const AdvisedRule> advised_rules() noexcept;

/// In forward passes of one sample; training on a sample counts as three.
struct Work {
  double training = 0;
  double first_pass = 0;  ///< before training, if the rule needs one
  double evaluation = 0;

  [[nodiscard]] constexpr double total() const noexcept {
    return training + first_pass + evaluation;
  }
};

/// What a rule does at one pruning rate.
struct RuleOutcome {
  std::string_view rule;                   ///< the name in `advised_rules`
  std::vector<std::int64_t> class_counts;  ///< kept of each class in the first epoch
  Work work;                               ///< of a whole run
  double speed_up = 1;  ///< work of a run on everything over this one's; not a ratio of times
};

struct RateAdvice {
  double pruning_rate = 0;
  std::int64_t keep_count = 0;
  std::string remark;              ///< from `remark_on_budget`
  std::vector<RuleOutcome> rules;  ///< as `advised_rules`
};

struct LossSummary {
  double mean = 0;
  // Of the mean losses of the classes.
  double lowest = 0;
  double highest = 0;
  ClassId lowest_class = 0;
  ClassId highest_class = 0;
};

enum class Verdict {
  Likely,    ///< cheaper; on such data the studies lost nothing
  AtAPrice,  ///< cheaper; on such data the studies lost some accuracy
  Hardly,    ///< there is little to gain, or much to lose
};
[[nodiscard]] std::string_view name_of(Verdict verdict) noexcept;  ///< "likely", "at a price"

/// Where a reason comes from.
enum class Basis {
  Computed,  ///< from what was given, by arithmetic
  Study,     ///< measured, in a study whose results are in docs/results
};
[[nodiscard]] std::string_view name_of(Basis basis) noexcept;  ///< "computed", "study"

struct Reason {
  Basis basis = Basis::Computed;
  std::string source;  ///< "labels", "losses", "arithmetic", or the folder of a study
  std::string text;    ///< a sentence
};

struct Suggestion {
  Verdict verdict = Verdict::Hardly;
  std::string rule = "full";  ///< a name of `advised_rules`; "full": train on everything
  double pruning_rate = 0;
  double speed_up = 1;  ///< of that rule at that rate
  /// The most that the rule lost on such data in the studies, in points of the worst or the average
  /// class, compared with training on everything; empty if there is no such study.
  std::optional<double> points_lost = std::nullopt;
  bool auto_beta = false;  ///< the temperature should follow the spread of the losses
  std::vector<Reason> reasons = {};
};

struct Advice {
  AdviseOptions options;  ///< rates ascending, each once; `evaluate_every` filled in
  std::int64_t sample_count = 0;
  std::vector<std::int64_t> class_sizes;  ///< of all classes, also those without samples
  ClassId filled_class_count = 0;         ///< classes that have samples, as the next two do
  ClassId smallest_class = 0;             ///< ties to the lower class
  ClassId largest_class = 0;              ///< ties to the lower class
  double imbalance = 1;                   ///< largest over smallest
  std::optional<LossSummary> losses;
  Work full_work;                 ///< of a run on everything
  std::vector<RateAdvice> rates;  ///< as `options.pruning_rates`
  Suggestion suggestion;
};

/// Asks the pruners what their first epoch would keep, adds up what a run costs, and suggests what
/// to try.
///
/// The counts come from the pruners themselves (`make_pruner`, `select(0)`), with the given losses
/// or, without any, with equal ones. Later epochs follow the losses of the training.
///
/// @param losses  one per sample, finite and >= 0, such as those before training; or none
/// @throws InvalidArgument  an option out of range, no rate, another number of losses than samples,
///                          an invalid loss; names the value
///
/// Makes a selection for each rule and rate: about 0.3 s for 1.3 million samples and three rates.
[[nodiscard]] Advice advise(const std::shared_ptr<const ClassIndex>& classes,
                            std::span<const double> losses, const AdviseOptions& options);

/// The advice as text for a terminal, in several paragraphs and tables.
[[nodiscard]] std::string describe(const Advice& advice);

}  // namespace rcap
RCAP_API_END
