#include "rcap/core/pruner.hpp"

#include <cstring>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "filter.hpp"
#include "option_texts.hpp"
#include "pickles.hpp"
#include "rcap/core/make_pruner.hpp"
#include "rcap/core/training_order.hpp"

namespace rcap::python {
namespace {

/// From this many ids on, other Python threads run meanwhile; not worth it for a batch.
constexpr std::size_t LongCall = 1 << 14;

struct PySelection {
  std::int64_t epoch;
  nb::object ids;
  nb::object weights;
  nb::object refresh_ids;
  double rate_factor;
};

template <bool InOrder>
PySelection select(PrunerHandle& self, std::int64_t epoch) {
  Selection selection;
  {
    const Turn turn(self);
    const nb::gil_scoped_release released;
    const Selection& chosen = self.pruner->select(epoch);
    selection = InOrder ? in_training_order(chosen, self.options.common.seed) : chosen;
  }
  PySelection result{epoch, nb::cast(as_numpy(std::move(selection.ids))), nb::none(),
                     nb::cast(as_numpy(std::move(selection.refresh_ids))), selection.rate_factor};
  if (!selection.weights.empty()) result.weights = nb::cast(as_numpy(std::move(selection.weights)));
  return result;
}

/// Calls `act` in turn; other Python threads run meanwhile if it is long.
template <class Act>
void act_on(const PrunerHandle& self, std::size_t id_count, const Act& act) {
  const Turn turn(self);
  if (id_count < LongCall) return act(*self.pruner);
  const nb::gil_scoped_release released;
  act(*self.pruner);
}

/// When losses come: with their selection, after the next one, or of samples that were left out.
enum class Losses { InTime, Late, Refreshed };

constexpr const char* name_of(Losses when) {
  return when == Losses::InTime ? "observe"
         : when == Losses::Late ? "observe_late"
                                : "observe_refreshed";
}

template <Losses When, class Real>
void observe_spans(const PrunerHandle& self, std::span<const SampleId> ids,
                   std::span<const Real> losses) {
  act_on(self, ids.size(), [&](Pruner& pruner) {
    if constexpr (When == Losses::InTime) {
      pruner.observe(ids, losses);
    } else if constexpr (When == Losses::Late) {
      pruner.observe_late(ids, losses);
    } else {
      pruner.observe_refreshed(ids, losses);
    }
  });
}

/// The usual batch, an int64 array of ids and a float32 array of losses, in a third of the time
/// that other arrays take. False if they are something else.
template <Losses When>
bool observe_usual(const PrunerHandle& self, nb::handle ids_object, nb::handle losses_object) {
  if (is_masked(ids_object) || is_masked(losses_object)) return false;
  const Buffer ids(ids_object);
  const Buffer losses(losses_object);
  if (!ids.holds<SampleId>() || !losses.holds<float>()) return false;
  observe_spans<When>(self, ids.span<SampleId>(), losses.span<float>());
  return true;
}

template <Losses When>
void observe(PrunerHandle& self, nb::handle ids_object, nb::handle losses_object) {
  if (observe_usual<When>(self, ids_object, losses_object)) return;
  const std::string where = name_of(When);
  std::vector<SampleId> storage;
  const Array ids_array = as_array(where + ": ids", ids_object);
  const Array losses = as_array(where + ": losses", losses_object);
  const auto ids = as_ids(where + ": ids", ids_array, storage);
  const nb::dlpack::dtype type = losses.dtype();
  if (type == nb::dtype<float>()) return observe_spans<When>(self, ids, span_of<float>(losses));
  if (type == nb::dtype<double>()) return observe_spans<When>(self, ids, span_of<double>(losses));
  refuse_type(where + ": losses", "float32 or float64", type);
}

void observe_batch(PrunerHandle& self, nb::handle ids_object, double mean_loss) {
  std::vector<SampleId> storage;
  const Array array = as_array("observe_batch: ids", ids_object);
  const auto ids = as_ids("observe_batch: ids", array, storage);
  act_on(self, ids.size(), [&](Pruner& pruner) { pruner.observe_batch(ids, mean_loss); });
}

/// Numbers at an address that the caller vouches for, such as `Tensor.data_ptr()`.
template <class Number>
std::span<Number> numbers_at(std::uintptr_t address, std::int64_t count) {
  if (count < 0) throw InvalidArgument("count is " + std::to_string(count) + "; it must be >= 0");
  return {reinterpret_cast<Number*>(address), static_cast<std::size_t>(count)};
}

void observe_at(PrunerHandle& self, std::uintptr_t ids, std::uintptr_t losses, std::int64_t count) {
  observe_spans<Losses::InTime>(self, numbers_at<const SampleId>(ids, count),
                                numbers_at<const float>(losses, count));
}

/// The factor of a loss in the mean of a batch: its weight over the size of the batch.
void gather_weights(std::uintptr_t table, std::uintptr_t ids, std::uintptr_t out,
                    std::int64_t count) {
  const auto places = numbers_at<const SampleId>(ids, count);
  const auto factors = numbers_at<float>(out, count);
  const auto* const weights = reinterpret_cast<const float*>(table);
  const float part = 1.0F / static_cast<float>(count);
  for (std::size_t i = 0; i < places.size(); ++i) factors[i] = weights[places[i]] * part;
}

bool weigh_in_order(std::uintptr_t order, std::uintptr_t weights, std::int64_t order_count,
                    std::int64_t first, std::uintptr_t ids, std::uintptr_t out,
                    std::int64_t count) {
  if (first < 0 || count > order_count - first) return false;
  const auto expected =
      numbers_at<const SampleId>(order, order_count).subspan(static_cast<std::size_t>(first));
  const auto factors = numbers_at<float>(out, count);
  if (std::memcmp(expected.data(), numbers_at<const SampleId>(ids, count).data(),
                  factors.size() * sizeof(SampleId)) != 0) {
    return false;
  }
  const float* const own = reinterpret_cast<const float*>(weights) + first;
  const float part = 1.0F / static_cast<float>(count);
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = own[i] * part;
  return true;
}

void pass_over(PrunerHandle& self, nb::handle ids_object) {
  std::vector<SampleId> storage;
  const Array array = as_array("pass_over: ids", ids_object);
  const auto ids = as_ids("pass_over: ids", array, storage);
  act_on(self, ids.size(), [&](Pruner& pruner) { pruner.pass_over(ids); });
}

void set_state(PrunerHandle& self, const nb::bytes& bytes) {
  const Turn turn(self);
  const nb::gil_scoped_release released;
  self.pruner->set_state({static_cast<const std::byte*>(bytes.data()), bytes.size()});
}

/// A Python function that asks a pruner for something that changes.
template <class Result>
auto in_turn(Result (Pruner::*ask)() const) {
  return [ask](const PrunerHandle& self) {
    const Turn turn(self);
    return (*self.pruner.*ask)();
  };
}

/// "50,000 samples".
std::string counted(std::int64_t count, const std::string& things) {
  return nb::str("{:,} {}").format(count, things).c_str();
}

/// "50,000 samples", "1 sample".
std::string counted(std::int64_t count, const char* thing, const char* things) {
  return counted(count, count == 1 ? thing : things);
}

/// ", pruning_rate=0.9, beta=0.5": the rate, and every option that differs from its default.
std::string given_options(const PrunerHandle& self) {
  const MethodInfo& method = require_method(self.pruner->method());
  PrunerOptions options = self.options;
  PrunerOptions defaults;
  OptionFields fields;
  OptionFields default_fields;
  list_options(fields, method, options);
  list_options(default_fields, method, defaults);
  std::string text;
  for (const Option& option : fields.all()) {
    const bool is_told = option.name() == "pruning_rate" ||
                         option.word() != default_fields.find(option.name())->word();
    if (is_told) text += ", " + std::string(option.name()) + "=" + value_of(option);
  }
  return text;
}

/// Where it is: "epoch 3, 5,000 selected, 120 not observed yet".
std::string progress_of(const PrunerHandle& self) {
  std::int64_t epoch = 0, selected = 0, pending = 0;
  {
    const Turn turn(self);
    epoch = self.pruner->epoch();
    selected = self.pruner->selected_count();
    pending = self.pruner->pending_count();
  }
  if (epoch >= 0) {
    return "epoch " + std::to_string(epoch) + ", " + counted(selected, "selected") + ", " +
           (pending == 0 ? "all observed" : counted(pending, "not observed yet"));
  }
  const bool waits = self.pruner->needs_initial_losses() && pending > 0;
  return "before the first epoch" +
         (waits ? ", " + counted(pending, "initial loss missing", "initial losses missing") : "");
}

std::string describe(nb::handle self) {
  const auto name = nb::cast<std::string>(self.type().attr("__name__"));
  // A debugger may show an object before its __init__ has finished.
  if (!nb::inst_ready(self)) return "<" + name + ", not initialised yet>";
  const auto& handle = nb::cast<const PrunerHandle&>(self);
  const ClassIndex& classes = handle.pruner->classes();
  return name + "(" + counted(classes.sample_count(), "sample", "samples") + ", " +
         counted(classes.class_count(), "class", "classes") + given_options(handle) + "; " +
         progress_of(handle) + ")";
}

nb::object class_sizes(const PrunerHandle& self) {
  const auto sizes = self.pruner->classes().class_sizes();
  return nb::cast(as_numpy(std::vector<std::int64_t>(sizes.begin(), sizes.end())));
}

/// Another pruner in its place: a window is part of how a pruner is made.
void set_window(PrunerHandle& self, std::int64_t window) {
  const Turn turn(self);
  const Pruner& before = *self.pruner;
  const MethodInfo& method = require_method(before.method());
  if (method.windows == Windows::None) {
    throw InvalidArgument(std::string(method.name) +
                          " does not select windows; rcap, balanced, rs2 and rs2-replace do");
  }
  PrunerOptions options = self.options;
  options.common.windows.window = window;
  if (options.common.windows.window == self.options.common.windows.window) return;
  const bool has_begun = before.epoch() >= 0 || before.averages_batches() ||
                         before.pending_count() < before.classes().sample_count();
  if (has_begun) {
    throw InvalidArgument(
        "set_window: losses were observed or a window was selected before; set it first, or make "
        "the pruner with window=");
  }
  self.pruner = make_pruner(method, std::make_shared<const ClassIndex>(before.classes()), options);
  self.options = std::move(options);
}

nb::object class_tokens(const PrunerHandle& self) {
  const auto tokens = self.pruner->classes().class_tokens();
  return nb::cast(as_numpy(std::vector<std::int64_t>(tokens.begin(), tokens.end())));
}

/// In place, as the labels are.
nb::object view_of_lengths(nb::handle self) {
  const ClassIndex& classes = nb::cast<const PrunerHandle&>(self).pruner->classes();
  if (!classes.has_lengths()) return nb::none();
  return nb::cast(nb::ndarray<nb::numpy, const std::uint32_t, nb::ndim<1>>(
      classes.lengths().data(), {classes.lengths().size()}, self));
}

/// The labels in place: the pruner lives as long as the array.
nb::object view_of_labels(nb::handle self) {
  const ClassIndex& classes = nb::cast<const PrunerHandle&>(self).pruner->classes();
  return classes.visit([&]<class T>(std::span<const T> labels) {
    return nb::cast(
        nb::ndarray<nb::numpy, const T, nb::ndim<1>>(labels.data(), {labels.size()}, self));
  });
}

}  // namespace

void bind_pruner(nb::module_& module) {
  nb::class_<PySelection>(module, "Selection", "What one epoch trains on.")
      .def_ro("epoch", &PySelection::epoch)
      .def_ro("ids", &PySelection::ids,
              nb::for_getter(nb::sig("def ids(self) -> NDArray[numpy.int64]")),
              "Distinct positions in the data set, an int64 array.")
      .def_ro("weights", &PySelection::weights,
              nb::for_getter(nb::sig("def weights(self) -> NDArray[numpy.float32] | None")),
              "The factor of each sample's loss, in the order of the ids; None if all are 1.")
      .def_ro("refresh_ids", &PySelection::refresh_ids,
              nb::for_getter(nb::sig("def refresh_ids(self) -> NDArray[numpy.int64]")),
              "Samples that are not trained on, but whose losses the method wants to know before "
              "the next epoch, from a forward pass: `observe_refreshed`. Mostly none.")
      .def_ro("rate_factor", &PySelection::rate_factor,
              "What the method multiplies the learning rate of this epoch by; mostly 1.")
      .def("__len__", [](const PySelection& self) { return nb::len(self.ids); })
      .def("__repr__",
           [](const PySelection& self) {
             return "Selection(epoch " + std::to_string(self.epoch) + ", " +
                    counted(static_cast<std::int64_t>(nb::len(self.ids)), "sample", "samples") +
                    (self.weights.is_none() ? ")" : ", weighted)");
           })
      .def("__getstate__",
           [](const PySelection& self) {
             return nb::make_tuple(self.epoch, self.ids, self.weights, self.refresh_ids,
                                   self.rate_factor);
           })
      .def("__setstate__", [](PySelection& self, const nb::tuple& parts) {
        if (parts.size() != 5) throw InvalidArgument("not the state of a Selection");
        new (&self) PySelection{nb::cast<std::int64_t>(parts[0]), parts[1], parts[2], parts[3],
                                nb::cast<double>(parts[4])};
      });

  nb::class_<PrunerHandle>(
      module, "Pruner",
      "Decides before each epoch which samples to train on: the base class of all "
      "methods.\n\n"
      ">>> pruner = RS2([0, 1, 0, 1], pruning_rate=0.5, seed=1)\n"
      ">>> first = pruner.select(0).ids\n"
      ">>> pruner.observe(first, [0.7, 0.3])  # for methods that learn from losses\n"
      ">>> second = pruner.select(1).ids\n"
      ">>> sorted([*first.tolist(), *second.tolist()])  # all, before any repeat\n"
      "[0, 1, 2, 3]\n\n"
      "Threads may share a pruner: calls run one at a time, in whatever order they come.")
      .def_prop_ro("method",
                   [](const PrunerHandle& self) { return std::string(self.pruner->method()); })
      .def_prop_ro(
          "learns", [](const PrunerHandle& self) { return self.pruner->learns(); },
          "Whether its selections follow the losses it observes.")
      .def_prop_ro(
          "judges_classes", [](const PrunerHandle& self) { return self.pruner->judges_classes(); },
          "Whether its selections follow the class errors given to `observe_classes`.")
      .def_prop_ro(
          "weighs", [](const PrunerHandle& self) { return self.pruner->weighs(); },
          "Whether samples can have weights other than 1.")
      .def_prop_ro(
          "refreshes", [](const PrunerHandle& self) { return self.pruner->refreshes(); },
          "Whether it wants a forward pass over samples that it leaves out: `observe_refreshed`.")
      .def_prop_ro(
          "follows_rate", [](const PrunerHandle& self) { return self.pruner->follows_rate(); },
          "Whether the pruning rate says how much is kept; if not, the method's own rule does.")
      .def_prop_ro("averages_batches", in_turn(&Pruner::averages_batches),
                   "Whether it is told the mean losses of batches: `observe_batch`.")
      .def_prop_ro("seed", [](const PrunerHandle& self) { return self.options.common.seed; })
      .def_prop_ro(
          "options", [](const PrunerHandle& self) { return self.pruner->options(); },
          "\"name=value\" of each option that shapes selections.")
      .def_prop_ro("sample_count",
                   [](const PrunerHandle& self) { return self.pruner->classes().sample_count(); })
      .def_prop_ro("class_count",
                   [](const PrunerHandle& self) { return self.pruner->classes().class_count(); })
      .def_prop_ro("class_sizes", class_sizes,
                   nb::for_getter(nb::sig("def class_sizes(self) -> NDArray[numpy.int64]")))
      .def_prop_ro(
          "labels", view_of_labels,
          nb::for_getter(nb::sig("def labels(self) -> NDArray[numpy.unsignedinteger[typing.Any]]")),
          "The class of every sample, in the narrowest type that holds all; read-only, no copy.")
      .def_prop_ro(
          "label_fingerprint",
          [](const PrunerHandle& self) { return self.pruner->classes().fingerprint(); },
          "Tells data sets apart: equal labels have equal fingerprints.")
      .def_prop_ro(
          "keep_count", [](const PrunerHandle& self) { return self.pruner->keep_count(); },
          "How many samples a pruned epoch trains on; with lengths, about how many.")
      .def_prop_ro(
          "keep_tokens", [](const PrunerHandle& self) { return self.pruner->keep_tokens(); },
          "How many tokens a pruned epoch trains on, within one sample for each class; without "
          "lengths every sample counts as one token.")
      .def_prop_ro(
          "token_count",
          [](const PrunerHandle& self) { return self.pruner->classes().token_count(); },
          "The tokens of all samples.")
      .def_prop_ro("class_tokens", class_tokens,
                   nb::for_getter(nb::sig("def class_tokens(self) -> NDArray[numpy.int64]")),
                   "The tokens of each class.")
      .def_prop_ro("lengths", view_of_lengths,
                   nb::for_getter(nb::sig("def lengths(self) -> NDArray[numpy.uint32] | None")),
                   "The tokens of every sample, read-only; None if they have no lengths.")
      .def_prop_ro(
          "window", [](const PrunerHandle& self) { return self.options.common.windows.window; },
          "Samples of each selection, tokens with lengths, if it selects windows; else None.")
      .def("set_window", set_window, nb::arg("window"),
           "Selects windows of so many samples, tokens with lengths, instead of epochs; before the "
           "first loss and the first selection. For callers who know the size only later, such as "
           "the sampler; otherwise make the pruner with `window=`.")
      .def_prop_ro("epoch", in_turn(&Pruner::epoch),
                   "The epoch last selected; -1 before the first.")
      .def_prop_ro("pending_count", in_turn(&Pruner::pending_count),
                   "Samples of the current selection that have not been observed yet.")
      .def_prop_ro(
          "clipped_part", in_turn(&Pruner::clipped_part),
          "Fraction of the losses observed in the last epoch that RCAP's clip cut when the "
          "current one was selected: near 1 the clip hides what tells samples apart. 0 for "
          "methods without a clip.")
      .def_prop_ro(
          "needs_initial_losses",
          [](const PrunerHandle& self) { return self.pruner->needs_initial_losses(); },
          "Whether every sample must be observed once before the first select.")
      .def(
          "pending_ids",
          [](const PrunerHandle& self) { return as_numpy(in_turn(&Pruner::pending_ids)(self)); },
          "The ids of these samples, ascending.")
      .def("select", select<false>, nb::arg("epoch"),
           "The samples of an epoch, ascending. The same epoch again gives the same samples.")
      .def("select_in_order", select<true>, nb::arg("epoch"),
           "The samples of an epoch in the random order in which to visit them.")
      .def("filter", filter_of, nb::arg("epoch") = nb::none(),
           "What `select` keeps in this epoch, by default the current one, for data that are read "
           "in an order of their own.")
      .def("observe", observe<Losses::InTime>, nb::arg("ids"), nb::arg("losses"),
           "Records the losses of some samples of the current selection, each once an epoch, in "
           "any order and any number of calls. On an error nothing is recorded.\n\n"
           "Losses must be finite and >= 0; from -1e-6 to 0 they count as 0. Methods that do not "
           "learn accept any numbers.")
      .def("_observe_at", observe_at, nb::arg("ids_address"), nb::arg("losses_address"),
           nb::arg("count"),
           "Private, for rcap's own adapters: `observe` of int64 ids and float32 losses at these "
           "addresses, which the caller vouches for: contiguous, in main memory, and alive.")
      .def("observe_late", observe<Losses::Late>, nb::arg("ids"), nb::arg("losses"),
           "Records losses of an earlier selection that come after the next `select`, as when a "
           "loader asks for the next epoch ahead of time. Pending samples of the current selection "
           "stay pending; a sample that was observed there keeps its newer loss. On an error "
           "nothing is recorded.")
      .def("observe_refreshed", observe<Losses::Refreshed>, nb::arg("ids"), nb::arg("losses"),
           "Records losses of samples that the current selection left out (`refresh_ids`), from a "
           "forward pass after its training. On an error nothing is recorded.")
      .def(
          "unrefreshed_ids",
          [](const PrunerHandle& self) {
            return as_numpy(in_turn(&Pruner::unrefreshed_ids)(self));
          },
          "The samples of `refresh_ids` that have not been refreshed yet, ascending.")
      .def("observe_batch", observe_batch, nb::arg("ids"), nb::arg("mean_loss"),
           "For a loss function that has only the mean of a batch: the method then follows, for "
           "each sample, the moving average of the batches it was in. For all batches of a run, or "
           "none. On an error nothing is recorded.")
      .def(
          "average_batches",
          [](PrunerHandle& self, double decay) {
            const Turn turn(self);
            self.pruner->average_batches(decay);
          },
          nb::arg("decay") = BatchMeans::UsualDecay,
          "Turns this on before the first loss, with another weight of the past in the moving "
          "average; `observe` then expects means of batches, too.")
      .def("pass_over", pass_over, nb::arg("ids"),
           "Counts samples of the current selection as observed although their losses are not "
           "known, as when a gradient scaler skips a batch. They keep the loss they had.")
      .def(
          "observe_classes",
          [](PrunerHandle& self, nb::handle errors) {
            const std::vector<double> numbers =
                numbers_of<double>("observe_classes: errors", errors);
            const Turn turn(self);
            self.pruner->observe_classes(numbers);
          },
          nb::arg("errors"),
          "Records the error of every class on data that is not trained on, such as the mean loss "
          "of its held-out samples. RCAP's robust rule follows these from then on.")
      .def(
          "log_prior",
          [](const PrunerHandle& self) { return as_numpy(in_turn(&Pruner::log_prior)(self)); },
          "The prior of what was trained: the logarithm of each class's part of the weights of all "
          "selections so far, a float64 array. `logits - tau * log_prior` corrects a network's "
          "outputs for the classes it has seen more of (logit adjustment).\n\n"
          "An epoch counts once, when it is first selected. A class that was never selected counts "
          "as half a sample. Before the first selection it is the prior of the data set.")
      .def(
          "planned_batches",
          [](const PrunerHandle& self, std::int64_t epochs, std::int64_t batch_size) {
            return self.pruner->planned_batches(epochs, batch_size);
          },
          nb::arg("epochs"), nb::arg("batch_size"),
          "How many batches a run will make; None if the method cannot tell in advance.")
      .def(
          "save",
          [](const PrunerHandle& self, const std::filesystem::path& path) {
            const Turn turn(self);
            const nb::gil_scoped_release released;
            self.pruner->save(path);
          },
          nb::arg("path"), "Writes all state, atomically.")
      .def(
          "load",
          [](PrunerHandle& self, const std::filesystem::path& path) {
            const Turn turn(self);
            const nb::gil_scoped_release released;
            self.pruner->load(path);
          },
          nb::arg("path"), "Continues exactly where `save` was called, also in mid-epoch.")
      .def("state", state_of, "The bytes that `save` would write.")
      .def("set_state", set_state, nb::arg("state"), "As `load`, from the bytes of `state`.")
      .def("__getstate__", contents_of, nb::sig("def __getstate__(self) -> dict[str, typing.Any]"))
      .def("__repr__", describe);

  module.def("_gather_weights", gather_weights, nb::arg("table_address"), nb::arg("ids_address"),
             nb::arg("out_address"), nb::arg("count"),
             "Private, for rcap's own adapters: out[i] = table[ids[i]] / count, in float32, of "
             "int64 ids. The caller vouches for the addresses and for ids that lie in the table.");
  module.def("_weigh_in_order", weigh_in_order, nb::arg("order_address"),
             nb::arg("weights_address"), nb::arg("order_count"), nb::arg("first"),
             nb::arg("ids_address"), nb::arg("out_address"), nb::arg("count"),
             "Private, the same without a table: if the ids are order[first : first + count], "
             "out[i] = weights[first + i] / count. Returns whether they are.");
}

}  // namespace rcap::python
