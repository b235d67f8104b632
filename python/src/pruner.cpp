#include "rcap/core/pruner.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "rcap/core/make_pruner.hpp"
#include "rcap/core/training_order.hpp"

namespace rcap::python {
namespace {

/// Other threads of Python run meanwhile; not worth it for a batch.
constexpr std::size_t LongCall = 1 << 14;

struct PySelection {
  std::int64_t epoch;
  nb::object ids;
  nb::object weights;
};

template <bool InOrder>
PySelection select(PrunerHandle& self, std::int64_t epoch) {
  Selection selection;
  {
    const Turn turn(self);
    const nb::gil_scoped_release released;
    const Selection& chosen = self.pruner->select(epoch);
    selection = InOrder ? in_training_order(chosen, self.seed) : chosen;
  }
  PySelection result{epoch, nb::cast(as_numpy(std::move(selection.ids))), nb::none()};
  if (!selection.weights.empty()) result.weights = nb::cast(as_numpy(std::move(selection.weights)));
  return result;
}

template <class Real>
void observe_spans(const PrunerHandle& self, std::span<const SampleId> ids,
                   std::span<const Real> losses) {
  const Turn turn(self);
  if (ids.size() < LongCall) return self.pruner->observe(ids, losses);
  const nb::gil_scoped_release released;
  self.pruner->observe(ids, losses);
}

/// What a batch brings: an int64 array of ids and a float32 array of losses, in a third of the
/// time that any kind of array takes. False if they are something else.
bool observe_batch(const PrunerHandle& self, nb::handle ids_object, nb::handle losses_object) {
  if (is_masked(ids_object) || is_masked(losses_object)) return false;
  const Buffer ids(ids_object);
  const Buffer losses(losses_object);
  if (!ids.holds<SampleId>() || !losses.holds<float>()) return false;
  observe_spans(self, ids.span<SampleId>(), losses.span<float>());
  return true;
}

void observe(PrunerHandle& self, nb::handle ids_object, nb::handle losses_object) {
  if (observe_batch(self, ids_object, losses_object)) return;
  std::vector<SampleId> storage;
  const Array ids_array = as_array("observe: ids", ids_object);
  const Array losses = as_array("observe: losses", losses_object);
  const auto ids = as_ids("observe: ids", ids_array, storage);
  const nb::dlpack::dtype type = losses.dtype();
  if (type == nb::dtype<float>()) return observe_spans(self, ids, span_of<float>(losses));
  if (type == nb::dtype<double>()) return observe_spans(self, ids, span_of<double>(losses));
  refuse_type("observe: losses", "float32 or float64", type);
}

nb::bytes state(const PrunerHandle& self) {
  std::vector<std::byte> bytes;
  {
    const Turn turn(self);
    const nb::gil_scoped_release released;
    bytes = self.pruner->state();
  }
  return nb::bytes(bytes.data(), bytes.size());
}

void set_state(PrunerHandle& self, const nb::bytes& bytes) {
  const Turn turn(self);
  const nb::gil_scoped_release released;
  self.pruner->set_state({static_cast<const std::byte*>(bytes.data()), bytes.size()});
}

/// A function of Python that asks a pruner for something that changes.
template <class Result>
auto in_turn(Result (Pruner::*ask)() const) {
  return [ask](const PrunerHandle& self) {
    const Turn turn(self);
    return (*self.pruner.*ask)();
  };
}

nb::object class_sizes(const PrunerHandle& self) {
  const auto sizes = self.pruner->classes().class_sizes();
  return nb::cast(as_numpy(std::vector<std::int64_t>(sizes.begin(), sizes.end())));
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
              "The factor of each sample's loss, beside its id; None where all are 1.")
      .def("__len__", [](const PySelection& self) { return nb::len(self.ids); });

  nb::class_<PrunerHandle>(
      module, "Pruner",
      "Decides before each epoch which samples to train on: the base of all "
      "methods.\n\n"
      ">>> pruner = RS2([0, 1, 0, 1], pruning_rate=0.5, seed=1)\n"
      ">>> first = pruner.select(0).ids\n"
      ">>> pruner.observe(first, [0.7, 0.3])  # of use to methods that learn from losses\n"
      ">>> second = pruner.select(1).ids\n"
      ">>> sorted([*first.tolist(), *second.tolist()])  # all, before any repeat\n"
      "[0, 1, 2, 3]\n\n"
      "Threads may share a pruner: their calls take turns, in whatever order they come.")
      .def_prop_ro("method",
                   [](const PrunerHandle& self) { return std::string(self.pruner->method()); })
      .def_prop_ro(
          "learns",
          [](const PrunerHandle& self) { return require_method(self.pruner->method()).learns; },
          "Whether its selections follow the losses it observes.")
      .def_prop_ro(
          "judges_classes", [](const PrunerHandle& self) { return self.pruner->judges_classes(); },
          "Whether its selections follow class errors that `observe_classes` tells.")
      .def_prop_ro(
          "weighs", [](const PrunerHandle& self) { return self.pruner->weighs(); },
          "Whether samples can have weights other than 1.")
      .def_ro("seed", &PrunerHandle::seed)
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
          "label_fingerprint",
          [](const PrunerHandle& self) { return self.pruner->classes().fingerprint(); },
          "Tells data sets apart: equal labels have equal fingerprints.")
      .def_prop_ro(
          "keep_count", [](const PrunerHandle& self) { return self.pruner->keep_count(); },
          "How many samples a pruned epoch trains on.")
      .def_prop_ro("epoch", in_turn(&Pruner::epoch),
                   "The epoch last selected; -1 before the first.")
      .def_prop_ro("pending_count", in_turn(&Pruner::pending_count),
                   "Samples of the current selection that have not been observed yet.")
      .def_prop_ro(
          "needs_initial_losses",
          [](const PrunerHandle& self) { return self.pruner->needs_initial_losses(); },
          "Whether every sample must be observed once before the first select.")
      .def(
          "pending_ids",
          [](const PrunerHandle& self) { return as_numpy(in_turn(&Pruner::pending_ids)(self)); },
          "Those samples, ascending.")
      .def("select", select<false>, nb::arg("epoch"),
           "The samples of an epoch, ascending. The same epoch again gives the same ones.")
      .def("select_in_order", select<true>, nb::arg("epoch"),
           "The samples of an epoch in the random order in which to visit them.")
      .def("observe", observe, nb::arg("ids"), nb::arg("losses"),
           "Records the losses of some samples of the current selection, each once an epoch, in "
           "any order and any number of calls. On an error nothing is recorded.")
      .def(
          "observe_classes",
          [](PrunerHandle& self, nb::handle errors) {
            const std::vector<double> numbers =
                numbers_of<double>("observe_classes: errors", errors);
            const Turn turn(self);
            self.pruner->observe_classes(numbers);
          },
          nb::arg("errors"),
          "Tells the error of every class on data that is not trained on, such as the mean loss of "
          "its held-out samples. RCAP's robust rule goes by these from then on.")
      .def(
          "planned_batches",
          [](const PrunerHandle& self, std::int64_t epochs, std::int64_t batch_size) {
            return self.pruner->planned_batches(epochs, batch_size);
          },
          nb::arg("epochs"), nb::arg("batch_size"),
          "How many batches a run will make; None where the method cannot tell.")
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
      .def("state", state, "The bytes that `save` would write.")
      .def("set_state", set_state, nb::arg("state"), "As `load`, from the bytes of `state`.");
}

}  // namespace rcap::python
