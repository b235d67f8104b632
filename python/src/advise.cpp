#include "rcap/core/advise.hpp"

#include <string>
#include <utility>
#include <variant>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "bindings.hpp"

namespace rcap::python {
namespace {

using nb::literals::operator""_a;

using Rates = std::variant<double, std::vector<double>>;

constexpr const char* AdviseDoc =
    R"(Estimates from labels, before anything is trained, whether pruning will help.

>>> advice = advise([0] * 9000 + [1] * 900 + [2] * 90)
>>> advice.imbalance
100.0
>>> advice.rates[-1].rules["rcap"].class_counts.tolist()
[705, 223, 71]
>>> advice.suggestion.rule, advice.suggestion.pruning_rate
('rcap', 0.9)

`print(advice)` shows all of it: what each rule would keep of each class at each rate, how many
times less work a run takes, which rule and rate to try, and why.

Args:
    labels: The class of every sample, integers.
    losses: One loss per sample, such as the initial losses; by default all are equal.
    pruning_rates: Fractions removed, one or several.
    epochs: Epochs of the planned run.
    test_samples: Samples in an evaluation; if 0, evaluations are not counted.
    evaluate_every: Epochs between evaluations; if 0, a run has ten evaluations.
    seed: Seed of all random numbers.
    threads: Number of threads; changes the time, never the result.
    class_count: Number of classes; by default the largest label + 1.

Raises:
    InvalidArgument: If labels, losses or options break a rule.)";

Advice advise_on(nb::handle labels, nb::handle losses, Rates rates, std::int64_t epochs,
                 std::int64_t test_samples, std::int64_t evaluate_every, std::uint64_t seed,
                 int threads, std::optional<std::int64_t> class_count) {
  const std::shared_ptr<const ClassIndex> classes = classes_of(labels, class_count);
  std::vector<double> numbers;
  if (!losses.is_none()) {
    numbers = numbers_of<double>("losses", losses);
    if (numbers.empty()) throw InvalidArgument("losses are empty; give one per sample, or None");
  }
  AdviseOptions options{.epochs = epochs,
                        .test_samples = test_samples,
                        .evaluate_every = evaluate_every,
                        .seed = seed,
                        .threads = threads};
  const double* one = std::get_if<double>(&rates);
  options.pruning_rates =
      one != nullptr ? std::vector{*one} : std::get<std::vector<double>>(std::move(rates));
  const nb::gil_scoped_release released;
  return advise(classes, numbers, options);
}

nb::object as_counts(const std::vector<std::int64_t>& counts) {
  return nb::cast(as_numpy(std::vector<std::int64_t>(counts)));
}

void bind_outcomes(nb::module_& module) {
  nb::class_<Work>(module, "Work",
                   "What a run costs, in forward passes of one sample: an estimate, not a time.")
      .def_ro("training", &Work::training, "Training on a sample counts as three.")
      .def_ro("first_pass", &Work::first_pass, "The pass before training, if the rule needs one.")
      .def_ro("evaluation", &Work::evaluation)
      .def_prop_ro("total", &Work::total);
  nb::class_<RuleOutcome>(module, "RuleOutcome", "What a rule does at one pruning rate.")
      .def_ro("rule", &RuleOutcome::rule)
      .def_prop_ro(
          "class_counts", [](const RuleOutcome& self) { return as_counts(self.class_counts); },
          nb::for_getter(nb::sig("def class_counts(self) -> NDArray[numpy.int64]")),
          "Samples kept of each class in the first epoch.")
      .def_ro("work", &RuleOutcome::work, "Work of a whole run.")
      .def_ro("speed_up", &RuleOutcome::speed_up,
              "How many times less work than a run on everything: an estimate, not of time.");
  nb::class_<RateAdvice>(module, "RateAdvice", "What every rule does at one pruning rate.")
      .def_ro("pruning_rate", &RateAdvice::pruning_rate)
      .def_ro("keep_count", &RateAdvice::keep_count, "How many samples an epoch trains on.")
      .def_ro("remark", &RateAdvice::remark, "What to know about that count; empty if nothing.")
      .def_prop_ro(
          "rules",
          [](const RateAdvice& self) {
            nb::dict rules;
            for (const RuleOutcome& outcome : self.rules) {
              rules[nb::cast(outcome.rule)] = nb::cast(outcome);
            }
            return rules;
          },
          nb::for_getter(nb::sig("def rules(self) -> dict[str, RuleOutcome]")),
          "By the name of the rule: rs2, balanced, rcap, rcap paper, rcap mass, rcap group.");
}

void bind_suggestion(nb::module_& module) {
  nb::class_<Reason>(module, "Reason", "Why something is suggested.")
      .def_prop_ro(
          "basis", [](const Reason& self) { return name_of(self.basis); },
          nb::for_getter(nb::sig("def basis(self) -> typing.Literal['computed', 'study']")),
          "\"computed\" from what was given, or measured in a \"study\".")
      .def_ro("source", &Reason::source,
              "\"labels\", \"losses\", \"arithmetic\", or the folder of the study.")
      .def_ro("text", &Reason::text)
      .def("__str__", [](const Reason& self) { return self.text; });
  nb::class_<Suggestion>(module, "Suggestion", "Which rule and rate to try, and why.")
      .def_prop_ro(
          "verdict", [](const Suggestion& self) { return name_of(self.verdict); },
          nb::for_getter(
              nb::sig("def verdict(self) -> typing.Literal['likely', 'at a price', 'hardly']")),
          "Whether pruning helps.")
      .def_ro("rule", &Suggestion::rule, "\"rcap\", or \"full\": train on everything.")
      .def_ro("pruning_rate", &Suggestion::pruning_rate)
      .def_ro("speed_up", &Suggestion::speed_up)
      .def_ro("points_lost", &Suggestion::points_lost,
              "The most points that such data lost in the studies; None without such a study.")
      .def_prop_ro(
          "beta",
          [](const Suggestion& self) { return self.auto_beta ? nb::cast("auto") : nb::cast(1.0); },
          nb::for_getter(nb::sig("def beta(self) -> float | typing.Literal['auto']")),
          "The temperature to use.")
      .def_ro("reasons", &Suggestion::reasons);
}

}  // namespace

void bind_advise(nb::module_& module) {
  bind_outcomes(module);
  bind_suggestion(module);
  nb::class_<LossSummary>(module, "LossSummary",
                          "The mean loss, of all samples and of the classes.")
      .def_ro("mean", &LossSummary::mean)
      .def_ro("lowest", &LossSummary::lowest, "The lowest mean loss of a class.")
      .def_ro("highest", &LossSummary::highest, "The highest mean loss of a class.")
      .def_ro("lowest_class", &LossSummary::lowest_class)
      .def_ro("highest_class", &LossSummary::highest_class);
  nb::class_<Advice>(module, "Advice", "What `advise` returns; `print` shows all of it.")
      .def_ro("sample_count", &Advice::sample_count)
      .def_prop_ro(
          "class_sizes", [](const Advice& self) { return as_counts(self.class_sizes); },
          nb::for_getter(nb::sig("def class_sizes(self) -> NDArray[numpy.int64]")))
      .def_ro("filled_class_count", &Advice::filled_class_count, "Classes that have samples.")
      .def_ro("smallest_class", &Advice::smallest_class, "Of the classes that have samples.")
      .def_ro("largest_class", &Advice::largest_class)
      .def_ro("imbalance", &Advice::imbalance, "Size of the largest class over the smallest.")
      .def_ro("losses", &Advice::losses, "None if no losses were given.")
      .def_ro("full_work", &Advice::full_work, "Work of a run on everything.")
      .def_ro("rates", &Advice::rates, "By ascending pruning rate.")
      .def_ro("suggestion", &Advice::suggestion)
      .def("__str__", [](const Advice& self) { return describe(self); });

  const AdviseOptions defaults;
  module.def("advise", advise_on, "labels"_a, "losses"_a = nb::none(), nb::kw_only(),
             "pruning_rates"_a = nb::tuple(nb::cast(defaults.pruning_rates)),
             "epochs"_a = defaults.epochs, "test_samples"_a = defaults.test_samples,
             "evaluate_every"_a = defaults.evaluate_every, "seed"_a = defaults.seed,
             "threads"_a = defaults.threads, "class_count"_a = nb::none(), AdviseDoc);
}

}  // namespace rcap::python
