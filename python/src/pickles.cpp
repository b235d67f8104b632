#include "pickles.hpp"

#include <algorithm>
#include <utility>

#include "arrays.hpp"
#include "rcap/core/make_pruner.hpp"

namespace rcap::python {
namespace {

/// As narrow as they are stored.
nb::object labels_of(const ClassIndex& classes) {
  return classes.visit([]<class Label>(std::span<const Label> labels) {
    return nb::cast(as_numpy(std::vector<Label>(labels.begin(), labels.end())));
  });
}

/// None if there are none.
nb::object lengths_of(const ClassIndex& classes) {
  if (!classes.has_lengths()) return nb::none();
  return nb::cast(
      as_numpy(std::vector<std::uint32_t>(classes.lengths().begin(), classes.lengths().end())));
}

/// The words of all options that have an effect.
nb::dict words_of(const MethodInfo& method, PrunerOptions options) {
  OptionFields fields;
  list_options(fields, method, options);
  nb::dict words;
  for (const Option& option : fields.all()) {
    const std::string word = option.word();
    if (option.applies() && !word.empty()) words[std::string(option.name()).c_str()] = word;
  }
  return words;
}

/// @param name  of the entry that it is or is part of
template <class Value>
Value cast_entry(const char* name, nb::handle object) {
  Value value;
  if (object.is_valid() && nb::try_cast(object, value, false)) return value;
  PyErr_Clear();
  throw InvalidArgument("a pickled pruner has no valid " + std::string(name) +
                        "; pickle it again, with this version of rcap");
}

template <class Value>
Value entry(const nb::dict& contents, const char* name) {
  return cast_entry<Value>(name, PyDict_GetItemString(contents.ptr(), name));
}

}  // namespace

nb::bytes state_of(const PrunerHandle& handle) {
  std::vector<std::byte> bytes;
  {
    const Turn turn(handle);
    const nb::gil_scoped_release released;
    bytes = handle.pruner->state();
  }
  return nb::bytes(bytes.data(), bytes.size());
}

nb::dict contents_of(nb::handle pruner) {
  const auto& handle = nb::cast<const PrunerHandle&>(pruner);
  const ClassIndex& classes = handle.pruner->classes();
  nb::dict contents;
  contents["labels"] = labels_of(classes);
  contents["lengths"] = lengths_of(classes);
  contents["class_count"] = static_cast<std::int64_t>(classes.class_count());
  contents["options"] = words_of(require_method(handle.pruner->method()), handle.options);
  contents["scores"] = as_numpy(std::vector(handle.options.scores));
  contents["mean_probabilities"] = as_numpy(std::vector(handle.options.mean_probabilities));
  contents["recalls"] = as_numpy(std::vector(handle.options.recalls));
  contents["state"] = state_of(handle);
  contents["attributes"] = nb::getattr(pruner, "__dict__", nb::dict());
  return contents;
}

MadePruner remake(const MethodInfo& method, const nb::dict& contents) {
  PrunerOptions options;
  OptionFields fields;
  list_options(fields, method, options);
  for (const auto& [name, word] : entry<nb::dict>(contents, "options")) {
    const GivenOption given{cast_entry<std::string>("options", name),
                            cast_entry<std::string>("options", word)};
    set_options(fields, method, {&given, 1}, Reader::Code);
  }
  options.scores = numbers_of<float>("scores", entry<nb::object>(contents, "scores"));
  if (contents.contains("mean_probabilities")) {  // older versions had none
    options.mean_probabilities =
        numbers_of<float>("mean_probabilities", entry<nb::object>(contents, "mean_probabilities"));
  }
  options.recalls = numbers_of<double>("recalls", entry<nb::object>(contents, "recalls"));
  const auto classes = classes_of(entry<nb::object>(contents, "labels"),
                                  entry<std::int64_t>(contents, "class_count"),
                                  contents.contains("lengths")  // older versions had none
                                      ? entry<nb::object>(contents, "lengths")
                                      : nb::none());
  const auto state = entry<nb::bytes>(contents, "state");
  MadePruner made{make_pruner(method, classes, options), std::move(options)};
  made.pruner->set_state({static_cast<const std::byte*>(state.data()), state.size()});
  return made;
}

void restore_attributes(nb::handle pruner, const nb::dict& contents) {
  const auto attributes = entry<nb::dict>(contents, "attributes");
  if (nb::len(attributes) > 0) nb::cast<nb::dict>(pruner.attr("__dict__")).update(attributes);
}

}  // namespace rcap::python
