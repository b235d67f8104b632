#include <string>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "rcap/core/scorers/divergence_scorer.hpp"
#include "rcap/core/scorers/el2n_scorer.hpp"
#include "rcap/core/scorers/forgetting_scorer.hpp"
#include "rcap/core/scorers/margin_scorer.hpp"
#include "rcap/core/scorers/recall_scorer.hpp"
#include "rcap/core/scorers/uncertainty_scorer.hpp"

namespace rcap::python {
namespace {

using nb::literals::operator""_a;

/// Outputs of a network, one row for each of `count` ids, flattened.
Array as_rows(const char* name, nb::handle object, std::size_t count) {
  if (is_masked(object)) {
    throw InvalidArgument(std::string(name) + " is a masked array; give all values");
  }
  const nb::object numpy = nb::module_::import_("numpy");
  const nb::object given = numpy.attr("asarray")(object);
  const std::string kind = nb::cast<std::string>(given.attr("dtype").attr("kind"));
  if (kind != "f" && kind != "i" && kind != "u") {
    throw InvalidArgument(std::string(name) + " must be numbers, not " +
                          nb::str("{}").format(given.attr("dtype")).c_str());
  }
  const nb::object rows = given.attr("astype")("float32", "copy"_a = false);
  if (nb::cast<int>(rows.attr("ndim")) != 2) {
    throw InvalidArgument(std::string(name) + " must have two dimensions, samples x classes");
  }
  const auto row_count = nb::cast<std::size_t>(rows.attr("shape")[nb::int_(0)]);
  if (row_count != count) {
    throw InvalidArgument(std::string(name) + " has " + std::to_string(row_count) + " rows for " +
                          std::to_string(count) + " ids; give a row for each, samples x classes");
  }
  return as_array(name, rows.attr("reshape")(-1));
}

ClassId as_class(const char* name, auto value) {
  if (std::in_range<ClassId>(value)) return static_cast<ClassId>(value);
  throw InvalidArgument(std::string(name) + ": " + std::to_string(value) + " is not a class");
}

std::vector<ClassId> as_classes(const char* name, nb::handle object) {
  const Array array = as_array(name, object);
  return with_integers(name, array, [name](auto values) {
    std::vector<ClassId> classes;
    for (const auto value : values) classes.push_back(as_class(name, value));
    return classes;
  });
}

template <class Scorer>
void add_outputs(Scorer& scorer, nb::handle ids_object, nb::handle outputs, const char* name) {
  std::vector<SampleId> storage;
  const Array ids_array = as_array("ids", ids_object);
  const auto ids = as_ids("ids", ids_array, storage);
  const Array rows = as_rows(name, outputs, ids.size());
  scorer.add(ids, span_of<float>(rows));
}

void bind_el2n(nb::module_& module) {
  const El2nOptions defaults;
  nb::class_<El2nScorer>(module, "EL2NScorer",
                         "The scores for EL2N: the length of the error vector, probabilities minus "
                         "one-hot label, as a mean over some epochs. Epochs count from 0.\n\n"
                         ">>> scorer = EL2NScorer([0, 1], first_epoch=0, last_epoch=0)\n"
                         ">>> scorer.add([0, 1], [[1.0, 0.0], [0.5, 0.5]])  # each sample once an "
                         "epoch\n"
                         ">>> scorer.end_epoch()\n"
                         ">>> [round(score, 2) for score in scorer.scores().tolist()]\n"
                         "[0.0, 0.71]")
      .def(
          "__init__",
          [](El2nScorer* self, nb::object labels, std::int64_t first_epoch, std::int64_t last_epoch,
             std::optional<std::int64_t> class_count) {
            new (self) El2nScorer(classes_of(labels, class_count), {first_epoch, last_epoch});
          },
          "labels"_a, nb::kw_only(), "first_epoch"_a = defaults.first_epoch,
          "last_epoch"_a = defaults.last_epoch, "class_count"_a = nb::none())
      .def(
          "add",
          [](El2nScorer& self, nb::object ids, nb::object probabilities) {
            add_outputs(self, ids, probabilities, "probabilities");
          },
          "ids"_a, "probabilities"_a)
      .def("end_epoch", &El2nScorer::end_epoch)
      .def_prop_ro("done", &El2nScorer::done)
      .def("scores", [](const El2nScorer& self) { return as_numpy(self.scores()); });
}

void bind_forgetting(nb::module_& module) {
  nb::class_<ForgettingScorer>(module, "ForgettingScorer",
                               "The scores for Forgetting: how often right became wrong; one more "
                               "than all others for a sample that was never right.\n\n"
                               ">>> scorer = ForgettingScorer([0, 0, 1])\n"
                               ">>> for predictions in ([0, 0, 0], [1, 0, 0]):\n"
                               "...     scorer.add([0, 1, 2], predictions)\n"
                               "...     scorer.end_epoch()\n"
                               ">>> scorer.scores().tolist()\n"
                               "[1.0, 0.0, 2.0]")
      .def(
          "__init__",
          [](ForgettingScorer* self, nb::object labels, std::optional<std::int64_t> class_count) {
            new (self) ForgettingScorer(classes_of(labels, class_count));
          },
          "labels"_a, nb::kw_only(), "class_count"_a = nb::none())
      .def(
          "add",
          [](ForgettingScorer& self, nb::object ids_object, nb::object predictions) {
            std::vector<SampleId> storage;
            const Array ids_array = as_array("ids", ids_object);
            const auto ids = as_ids("ids", ids_array, storage);
            self.add(ids, as_classes("predictions", predictions));
          },
          "ids"_a, "predictions"_a)
      .def("end_epoch", &ForgettingScorer::end_epoch)
      .def("scores", [](const ForgettingScorer& self) { return as_numpy(self.scores()); });
}

void bind_uncertainty(nb::module_& module) {
  const UncertaintyOptions defaults;
  nb::class_<UncertaintyScorer>(
      module, "UncertaintyScorer",
      "The scores for DynUnc and DUAL, from losses: how much exp(-loss), the probability of the "
      "true class, varies in windows of epochs.\n\n"
      ">>> scorer = UncertaintyScorer(2, window=2, dual_epochs=2)\n"
      ">>> for losses in ([0.0, 0.5], [1.0, 0.5]):\n"
      "...     scorer.add([0, 1], losses)\n"
      "...     scorer.end_epoch()\n"
      ">>> [round(score, 2) for score in scorer.uncertainties().tolist()]\n"
      "[0.45, 0.0]")
      .def(
          "__init__",
          [](UncertaintyScorer* self, std::int64_t sample_count, std::int64_t window,
             std::int64_t dual_epochs) {
            new (self) UncertaintyScorer(sample_count, {window, dual_epochs});
          },
          "sample_count"_a, nb::kw_only(), "window"_a = defaults.window,
          "dual_epochs"_a = defaults.dual_epochs)
      .def(
          "add",
          [](UncertaintyScorer& self, nb::object ids_object, nb::object losses) {
            std::vector<SampleId> storage;
            const Array ids_array = as_array("ids", ids_object);
            const auto ids = as_ids("ids", ids_array, storage);
            self.add(ids, numbers_of<float>("losses", losses));
          },
          "ids"_a, "losses"_a)
      .def("end_epoch", &UncertaintyScorer::end_epoch)
      .def_prop_ro("dual_done", &UncertaintyScorer::dual_done,
                   "Whether the epochs that DUAL scores have ended.")
      .def(
          "uncertainties",
          [](const UncertaintyScorer& self) { return as_numpy(self.uncertainties()); },
          "The scores for DynUnc, from all epochs so far.")
      .def(
          "dual_scores", [](const UncertaintyScorer& self) { return as_numpy(self.dual_scores()); },
          "The scores for DUAL, from its first `dual_epochs` epochs.")
      .def(
          "mean_probabilities",
          [](const UncertaintyScorer& self) { return as_numpy(self.mean_probabilities()); },
          "The mean probabilities that DUAL's draw needs, over the same epochs.");
}

}  // namespace

void bind_scorers(nb::module_& module) {
  nb::class_<MarginScorer>(
      module, "MarginScorer",
      "The scores for CCS: margins of the true class, summed over a training "
      "run on everything.\n\n"
      ">>> scorer = MarginScorer([0, 1])\n"
      ">>> scorer.add([0, 1], [[2.0, 0.0], [2.0, 0.0]])  # each sample once an epoch\n"
      ">>> [round(score, 2) for score in scorer.scores().tolist()]\n"
      "[0.76, -0.76]")
      .def(
          "__init__",
          [](MarginScorer* self, nb::object labels, const std::string& kind,
             std::optional<std::int64_t> class_count) {
            MarginKind margin{};
            OptionFields fields;
            fields.choice("kind", margin, {"probability", "logit"}, "").set(kind);
            new (self) MarginScorer(classes_of(labels, class_count), margin);
          },
          "labels"_a, nb::kw_only(), "kind"_a = "probability", "class_count"_a = nb::none(),
          nb::sig("def __init__(self, labels: object, *, kind: typing.Literal['probability', "
                  "'logit'] = 'probability', class_count: int | None = None) -> None"),
          "kind: \"probability\" (of the softmax) or \"logit\" (the area under the margin).")
      .def(
          "add",
          [](MarginScorer& self, nb::object ids, nb::object logits) {
            add_outputs(self, ids, logits, "logits");
          },
          "ids"_a, "logits"_a)
      .def("scores", [](const MarginScorer& self) { return as_numpy(self.scores()); });

  const DivergenceOptions defaults;
  nb::class_<DivergenceScorer>(module, "DivergenceScorer",
                               "The scores for TDDS: how unevenly predictions move over the first "
                               "epochs.")
      .def(
          "__init__",
          [](DivergenceScorer* self, nb::object labels, std::int64_t epochs, std::int64_t window,
             double decay, std::optional<std::int64_t> class_count) {
            new (self) DivergenceScorer(classes_of(labels, class_count), {epochs, window, decay});
          },
          "labels"_a, nb::kw_only(), "epochs"_a = defaults.epochs, "window"_a = defaults.window,
          "decay"_a = defaults.decay, "class_count"_a = nb::none())
      .def(
          "add",
          [](DivergenceScorer& self, nb::object ids, nb::object probabilities) {
            add_outputs(self, ids, probabilities, "probabilities");
          },
          "ids"_a, "probabilities"_a)
      .def("end_epoch", &DivergenceScorer::end_epoch)
      .def_prop_ro("done", &DivergenceScorer::done)
      .def("scores", [](const DivergenceScorer& self) { return as_numpy(self.scores()); });

  nb::class_<RecallScorer>(module, "RecallScorer",
                           "The recalls for MetriQ: of each class on held-out data, at the best "
                           "epoch.\n\n"
                           ">>> scorer = RecallScorer(2)\n"
                           ">>> scorer.add(labels=[0, 0, 1], predictions=[0, 1, 1])\n"
                           ">>> scorer.end_epoch()\n"
                           ">>> scorer.recalls().tolist()\n"
                           "[0.5, 1.0]")
      .def(
          "__init__",
          [](RecallScorer* self, std::int64_t class_count) {
            new (self) RecallScorer(as_class("class_count", class_count));
          },
          "class_count"_a)
      .def(
          "add",
          [](RecallScorer& self, nb::object labels, nb::object predictions) {
            self.add(as_classes("labels", labels), as_classes("predictions", predictions));
          },
          "labels"_a, "predictions"_a)
      .def("end_epoch", &RecallScorer::end_epoch)
      .def("end_model", &RecallScorer::end_model,
           "Ends a model; the recalls are the mean over all models.")
      .def("recalls", [](const RecallScorer& self) { return as_numpy(self.recalls()); });

  bind_el2n(module);
  bind_forgetting(module);
  bind_uncertainty(module);
}

}  // namespace rcap::python
