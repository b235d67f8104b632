#include "arrays.hpp"
#include "bindings.hpp"
#include "choose.hpp"
#include "labels.hpp"
#include "pruner_handle.hpp"
#include "rcap/core/make_pruner.hpp"

namespace rcap::python {
namespace {

using nb::literals::operator""_a;

/// A Python class needs a C++ type of its own.
template <int Number>
struct Method : PrunerHandle {};

/// What every method is made from.
struct Common {
  nb::object labels;
  double pruning_rate;
  std::uint64_t seed;
  int threads;
  std::optional<std::int64_t> class_count;
};

void make(PrunerHandle& self, const char* method, const Common& common, PrunerOptions options) {
  options.common = {common.pruning_rate, common.seed, common.threads};
  self.seed = common.seed;
  self.pruner = make_pruner(method, classes_of(common.labels, common.class_count), options);
}

template <class T>
std::vector<T> numbers_of(const char* name, nb::handle object) {
  const Array array = as_array(name, object);
  const auto copy = [](auto values) { return std::vector<T>(values.begin(), values.end()); };
  if (array.dtype() == nb::dtype<float>()) return copy(span_of<float>(array));
  if (array.dtype() == nb::dtype<double>()) return copy(span_of<double>(array));
  refuse_type(name, "float32 or float64", array.dtype());
}

const PrunerOptions Defaults;

/// Adds a class whose constructor takes the common options and those of `add_options`.
template <int Number, class Init, class... Arguments>
void add_method(nb::module_& module, const char* name, const char* meaning, Init&& init,
                const Arguments&... arguments) {
  nb::class_<Method<Number>, PrunerHandle>(module, name, meaning)
      .def("__init__", init, "labels"_a, nb::kw_only(),
           "pruning_rate"_a = Defaults.common.pruning_rate, arguments...,
           "seed"_a = Defaults.common.seed, "threads"_a = Defaults.common.threads,
           "class_count"_a = nb::none());
}

/// A method without options of its own.
template <int Number>
void add_plain(nb::module_& module, const char* name, const char* method, const char* meaning) {
  add_method<Number>(
      module, name, meaning,
      [method](Method<Number>* self, nb::object labels, double pruning_rate, std::uint64_t seed,
               int threads, std::optional<std::int64_t> class_count) {
        new (self) Method<Number>;
        make(*self, method, {labels, pruning_rate, seed, threads, class_count}, {});
      });
}

void add_rcap(nb::module_& module) {
  add_method<0>(
      module, "RCAP",
      "Classes by their losses, then samples from softmax(loss / beta) inside a class.\n\n"
      "class_share: \"paper\" (the printed formula), \"mass\" (the authors' code) or \"group\" "
      "(every class weighs the same).\n"
      "initial_loss: \"forward\" (observe all samples once before the first select) or "
      "\"log-c\" (none needed).\n\n"
      ">>> pruner = RCAP([0] * 90 + [1] * 10, pruning_rate=0.9, class_share=\"group\")\n"
      ">>> pruner.observe(range(100), [1.0] * 100)\n"
      ">>> len(pruner.select(0))\n"
      "10",
      [](Method<0>* self, nb::object labels, double pruning_rate, double beta,
         const std::string& class_share, const std::string& initial_loss, const std::string& clip,
         std::int64_t min_per_class, std::uint64_t seed, int threads,
         std::optional<std::int64_t> class_count) {
        new (self) Method<0>;
        PrunerOptions options;
        options.rcap.beta = beta;
        options.rcap.class_share = choose<ClassShare>("class_share", class_share,
                                                      {{"paper", ClassShare::Paper},
                                                       {"mass", ClassShare::Mass},
                                                       {"group", ClassShare::Group}});
        options.rcap.initial_loss =
            choose<InitialLoss>("initial_loss", initial_loss,
                                {{"forward", InitialLoss::Forward}, {"log-c", InitialLoss::LogC}});
        options.rcap.clip = choose<LossClip>(
            "clip", clip, {{"class-max", LossClip::ClassMax}, {"log-c", LossClip::LogC}});
        options.rcap.min_per_class = min_per_class;
        make(*self, "rcap", {labels, pruning_rate, seed, threads, class_count}, options);
      },
      "beta"_a = Defaults.rcap.beta, "class_share"_a = "paper", "initial_loss"_a = "forward",
      "clip"_a = "class-max", "min_per_class"_a = Defaults.rcap.min_per_class);
}

void add_rs2_replace(nb::module_& module) {
  add_method<2>(
      module, "RS2Replace",
      "A random subset each epoch, independent of the last one.\n\n"
      "stratified: every class keeps its part.",
      [](Method<2>* self, nb::object labels, double pruning_rate, bool stratified,
         std::uint64_t seed, int threads, std::optional<std::int64_t> class_count) {
        new (self) Method<2>;
        PrunerOptions options;
        options.rs2_stratified = stratified;
        make(*self, "rs2-replace", {labels, pruning_rate, seed, threads, class_count}, options);
      },
      "stratified"_a = Defaults.rs2_stratified);
}

void add_infobatch(nb::module_& module) {
  add_method<3>(
      module, "InfoBatch",
      "All samples above the mean loss, a part of the others with larger weights.\n\n"
      "epochs: of the whole run.\n"
      "batch_size: with it the run is shortened to pruning_rate; without it the method runs as "
      "published and pruning_rate has no effect.\n\n"
      ">>> pruner = InfoBatch([0, 1] * 50, epochs=10)\n"
      ">>> ids = pruner.select(0).ids  # everything: no loss is known yet\n"
      ">>> pruner.observe(ids, [0.1] * 50 + [2.0] * 50)\n"
      ">>> selection = pruner.select(1)\n"
      ">>> len(selection), selection.weights.max().item()  # half of the easy ones, weighing "
      "twice\n"
      "(75, 2.0)",
      [](Method<3>* self, nb::object labels, double pruning_rate, std::int64_t epochs,
         std::optional<std::int64_t> batch_size, double prune_probability, double annealing,
         std::uint64_t seed, int threads, std::optional<std::int64_t> class_count) {
        new (self) Method<3>;
        PrunerOptions options;
        options.infobatch = {prune_probability, annealing, epochs, batch_size};
        make(*self, "infobatch", {labels, pruning_rate, seed, threads, class_count}, options);
      },
      "epochs"_a, "batch_size"_a = nb::none(),
      "prune_probability"_a = Defaults.infobatch.prune_probability,
      "annealing"_a = Defaults.infobatch.annealing);
}

BanditStart start_of(const std::string& word) {
  return choose<BanditStart>("start", word,
                             {{"first-loss", BanditStart::FirstLoss},
                              {"zero", BanditStart::Zero},
                              {"one", BanditStart::One}});
}

void add_bandits(nb::module_& module) {
  add_method<4>(
      module, "UCB",
      "The highest running mean plus variance of the loss, chosen every `period` epochs.\n\n"
      "loss_weight: of the newest loss in the mean; confidence: of the variance.\n"
      "start: of the mean, \"first-loss\", \"zero\" or \"one\"; full_first_epoch: all data until a "
      "loss is known, else a random subset.",
      [](Method<4>* self, nb::object labels, double pruning_rate, double loss_weight,
         double confidence, std::int64_t period, const std::string& start, bool full_first_epoch,
         std::uint64_t seed, int threads, std::optional<std::int64_t> class_count) {
        new (self) Method<4>;
        PrunerOptions options;
        options.ucb.learning_rate = loss_weight;
        options.ucb.confidence = confidence;
        options.ucb.period = period;
        options.ucb.start = start_of(start);
        options.ucb.full_first_epoch = full_first_epoch;
        make(*self, "ucb", {labels, pruning_rate, seed, threads, class_count}, options);
      },
      "loss_weight"_a = Defaults.ucb.learning_rate, "confidence"_a = Defaults.ucb.confidence,
      "period"_a = Defaults.ucb.period, "start"_a = "first-loss",
      "full_first_epoch"_a = Defaults.ucb.full_first_epoch);
  add_method<5>(
      module, "EpsilonGreedy",
      "The highest running mean of the loss, and a part `epsilon` at random.\n\n"
      "loss_weight, period, start, full_first_epoch: as in `UCB`.",
      [](Method<5>* self, nb::object labels, double pruning_rate, double loss_weight,
         double epsilon, std::int64_t period, const std::string& start, bool full_first_epoch,
         std::uint64_t seed, int threads, std::optional<std::int64_t> class_count) {
        new (self) Method<5>;
        PrunerOptions options;
        options.epsilon_greedy.learning_rate = loss_weight;
        options.epsilon_greedy.epsilon = epsilon;
        options.epsilon_greedy.period = period;
        options.epsilon_greedy.start = start_of(start);
        options.epsilon_greedy.full_first_epoch = full_first_epoch;
        make(*self, "epsilon-greedy", {labels, pruning_rate, seed, threads, class_count}, options);
      },
      "loss_weight"_a = Defaults.epsilon_greedy.learning_rate,
      "epsilon"_a = Defaults.epsilon_greedy.epsilon, "period"_a = Defaults.epsilon_greedy.period,
      "start"_a = "one", "full_first_epoch"_a = Defaults.epsilon_greedy.full_first_epoch);
}

void add_scored(nb::module_& module) {
  add_method<6>(
      module, "CCS",
      "An even cover of the range of margins, without the hardest.\n\n"
      "scores: of `MarginScorer`, one per sample.\n\n"
      ">>> pruner = CCS([0, 1] * 5, pruning_rate=0.6, scores=[0.1 * i for i in range(10)])\n"
      ">>> len(pruner.select(0))\n"
      "4",
      [](Method<6>* self, nb::object labels, double pruning_rate, nb::object scores,
         double hard_cutoff, std::int64_t strata, std::uint64_t seed, int threads,
         std::optional<std::int64_t> class_count) {
        new (self) Method<6>;
        PrunerOptions options;
        options.scores = numbers_of<float>("scores", scores);
        options.ccs = {hard_cutoff, strata};
        make(*self, "ccs", {labels, pruning_rate, seed, threads, class_count}, options);
      },
      "scores"_a, "hard_cutoff"_a = Defaults.ccs.hard_cutoff, "strata"_a = Defaults.ccs.strata);
  add_method<7>(
      module, "MetriQ",
      "Classes in proportion to their error on held-out data.\n\n"
      "recalls: of `RecallScorer`, one per class; quota: \"density\" (class error times class "
      "size) or \"size\" (class error alone).",
      [](Method<7>* self, nb::object labels, double pruning_rate, nb::object recalls,
         const std::string& quota, std::uint64_t seed, int threads,
         std::optional<std::int64_t> class_count) {
        new (self) Method<7>;
        PrunerOptions options;
        options.recalls = numbers_of<double>("recalls", recalls);
        options.metriq.quota = choose<MetriqQuota>(
            "quota", quota, {{"density", MetriqQuota::Density}, {"size", MetriqQuota::Size}});
        make(*self, "metriq", {labels, pruning_rate, seed, threads, class_count}, options);
      },
      "recalls"_a, "quota"_a = "density");
  add_method<8>(
      module, "TDDS",
      "The samples whose predictions vary most over training.\n\n"
      "scores: of `DivergenceScorer`, one per sample.",
      [](Method<8>* self, nb::object labels, double pruning_rate, nb::object scores,
         std::uint64_t seed, int threads, std::optional<std::int64_t> class_count) {
        new (self) Method<8>;
        PrunerOptions options;
        options.scores = numbers_of<float>("scores", scores);
        make(*self, "tdds", {labels, pruning_rate, seed, threads, class_count}, options);
      },
      "scores"_a);
}

}  // namespace

void bind_methods(nb::module_& module) {
  add_rcap(module);
  add_plain<1>(module, "RS2", "rs2",
               "A random subset each epoch, through the whole data before any repeat.");
  add_rs2_replace(module);
  add_infobatch(module);
  add_bandits(module);
  add_scored(module);
  add_plain<9>(module, "Random", "random", "One random subset for the whole run.");
  add_plain<10>(module, "Balanced", "balanced", "Equal counts per class, uniform inside a class.");
  add_plain<11>(module, "Full", "full", "Everything, to compare.");
}

}  // namespace rcap::python
