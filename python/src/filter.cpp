#include "filter.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "bindings.hpp"

namespace rcap::python {
namespace {

namespace fs = std::filesystem;

void make(PyFilter* self, std::int64_t epoch, std::int64_t sample_count, nb::handle ids_object,
          nb::handle weights_object) {
  std::vector<SampleId> storage;
  const Array array = as_array("Filter: ids", ids_object);
  const auto ids = as_ids("Filter: ids", array, storage);
  std::vector<float> weights;
  if (!weights_object.is_none()) weights = numbers_of<float>("Filter: weights", weights_object);
  const nb::gil_scoped_release released;
  new (self) PyFilter{Filter(epoch, sample_count, ids, weights), std::nullopt};
}

/// Another epoch is in the file than the caller expects.
void require_epoch(const Filter& filter, const fs::path& path, std::int64_t epoch) {
  if (filter.epoch() == epoch) return;
  throw StateMismatch("Filter \"" + path.string() + "\": it is for epoch " +
                      std::to_string(filter.epoch()) + ", epoch " + std::to_string(epoch) +
                      " is wanted; save the filter of that epoch before it is loaded");
}

PyFilter load(const fs::path& given, std::optional<std::int64_t> epoch) {
  const nb::gil_scoped_release released;
  const fs::path path = fs::absolute(given);
  PyFilter loaded{Filter::load(path), path};
  if (epoch) require_epoch(loaded.filter, path, *epoch);
  return loaded;
}

/// The results for ids in whatever form they come.
template <class Result, class Ask>
auto ask(const char* name, nb::handle ids_object, const Ask& ask) {
  std::vector<SampleId> storage;
  const Array array = as_array(name, ids_object);
  const auto ids = as_ids(name, array, storage);
  std::vector<Result> results(ids.size());
  {
    const nb::gil_scoped_release released;
    ask(ids, std::span(results));
  }
  return as_numpy(std::move(results));
}

nb::object keep(const PyFilter& self, nb::handle ids) {
  const auto mask = ask<std::uint8_t>(
      "keep: ids", ids, [&](auto given, auto results) { self.filter.keep(given, results); });
  return nb::cast(mask).attr("view")("?");
}

auto weights(const PyFilter& self, nb::handle ids) {
  return ask<float>("weights: ids", ids,
                    [&](auto given, auto results) { self.filter.weigh(given, results); });
}

/// A path tells the other process where to look, in a few bytes; it must find the same there.
nb::tuple contents_of(const PyFilter& self) {
  const auto bytes = self.filter.bytes();
  if (!self.path) return nb::make_tuple(nb::bytes(bytes.data(), bytes.size()), nb::none());
  const auto checksum = bytes.last(8);
  return nb::make_tuple(nb::bytes(checksum.data(), checksum.size()), nb::cast(*self.path));
}

void restore(PyFilter& self, const nb::bytes& bytes, const std::optional<fs::path>& path) {
  const std::span given{static_cast<const std::byte*>(bytes.data()), bytes.size()};
  if (!path) {
    new (&self) PyFilter{Filter::from_bytes(given), std::nullopt};
    return;
  }
  Filter filter = Filter::load(*path);
  if (!std::ranges::equal(filter.bytes().last(8), given)) {
    throw StateMismatch("Filter \"" + path->string() +
                        "\": the file now holds another filter, of "
                        "epoch " +
                        std::to_string(filter.epoch()) +
                        ", than when this one was pickled; give each epoch its own file");
  }
  new (&self) PyFilter{std::move(filter), path};
}

nb::str describe(const PyFilter& self) {
  const Filter& filter = self.filter;
  return nb::str("Filter(epoch {}, keeps {:,} of {:,} samples{})")
      .format(filter.epoch(), filter.kept_count(), filter.sample_count(),
              filter.weighs() ? ", weighted" : "");
}

}  // namespace

PyFilter filter_of(PrunerHandle& self, std::optional<std::int64_t> epoch) {
  const Turn turn(self);
  const nb::gil_scoped_release released;
  Pruner& pruner = *self.pruner;
  if (!epoch && pruner.epoch() < 0) {
    throw InvalidArgument("filter: nothing has been selected yet; give the epoch to select");
  }
  const Selection& selection = pruner.select(epoch.value_or(pruner.epoch()));
  return {Filter(selection, pruner.classes().sample_count()), std::nullopt};
}

void bind_filter(nb::module_& module) {
  nb::class_<PyFilter>(
      module, "Filter",
      "What an epoch keeps, for data that are read in an order of their own: shards of a "
      "stream.\n\n"
      ">>> filter = RS2([0, 1] * 4, pruning_rate=0.5, seed=1).filter(0)\n"
      ">>> len(filter), filter.keep(range(8)).sum().item()\n"
      "(4, 4)\n\n"
      "One bit for each sample of the data set, and the weights of those that are kept. `save` it "
      "and `load` it elsewhere: the processes of a machine then share its memory, and a pickle "
      "holds its path alone. Filters do not change; threads may share one.")
      .def("__init__", make, nb::arg("epoch"), nb::arg("sample_count"), nb::arg("ids"),
           nb::arg("weights") = nb::none(),
           "Keeps these ids of a data set of that many samples, each with its weight; without "
           "weights all are 1.")
      .def_static(
          "load", load, nb::arg("path"), nb::arg("epoch") = nb::none(),
          "Maps a file that `save` or `rcap select --filter` wrote. With an epoch, a filter "
          "of another one is an error.")
      .def(
          "save",
          [](const PyFilter& self, const fs::path& path) {
            const nb::gil_scoped_release released;
            self.filter.save(path);
          },
          nb::arg("path"),
          "Writes it, atomically: who has loaded the file that was there keeps that one.")
      .def_prop_ro("epoch", [](const PyFilter& self) { return self.filter.epoch(); })
      .def_prop_ro(
          "sample_count", [](const PyFilter& self) { return self.filter.sample_count(); },
          "The size of the data set.")
      .def_prop_ro(
          "weighs", [](const PyFilter& self) { return self.filter.weighs(); },
          "Whether samples have weights other than 1.")
      .def_prop_ro(
          "path", [](const PyFilter& self) { return self.path; },
          "The file that it was loaded from; None if it is in memory.")
      .def_prop_ro(
          "ids", [](const PyFilter& self) { return nb::cast(as_numpy(self.filter.ids())); },
          "What it keeps, ascending.",
          nb::for_getter(nb::sig("def ids(self) -> NDArray[numpy.int64]")))
      .def("__len__", [](const PyFilter& self) { return self.filter.kept_count(); })
      .def(
          "__contains__",
          [](const PyFilter& self, std::int64_t id) { return self.filter.contains(id); },
          nb::arg("id"), "Whether the epoch keeps a sample; an unknown one is an error.")
      .def("keep", keep, nb::arg("ids"),
           nb::sig("def keep(self, ids: object) -> NDArray[numpy.bool]"),
           "Whether the epoch keeps each of these samples; an unknown one is an error.")
      .def("weights", weights, nb::arg("ids"),
           nb::sig("def weights(self, ids: object) -> NDArray[numpy.float32]"),
           "The factor of each sample's loss: 0 for those that the epoch leaves out.")
      .def(
          "_bytes",
          [](nb::handle self) {
            const auto bytes = nb::cast<const PyFilter&>(self).filter.bytes();
            return nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>(
                reinterpret_cast<const std::uint8_t*>(bytes.data()), {bytes.size()}, self);
          },
          nb::sig("def _bytes(self) -> NDArray[numpy.uint8]"),
          "Private, for rcap's own adapters: what `save` writes.")
      .def("__getstate__", contents_of)
      .def("__setstate__",
           [](PyFilter& self, const std::tuple<nb::bytes, std::optional<fs::path>>& parts) {
             restore(self, std::get<0>(parts), std::get<1>(parts));
           })
      .def("__repr__", describe);
}

}  // namespace rcap::python
