#include <string>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "rcap/core/scorers/divergence_scorer.hpp"
#include "rcap/core/scorers/margin_scorer.hpp"
#include "rcap/core/scorers/recall_scorer.hpp"

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
}

}  // namespace rcap::python
