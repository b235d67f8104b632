#include <cctype>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "option_texts.hpp"
#include "pickles.hpp"
#include "rcap/core/make_pruner.hpp"

namespace rcap::python {
namespace {

/// A Python class needs a C++ type of its own; there may be up to this many methods.
constexpr std::size_t MostMethods = 64;
template <std::size_t Number>
struct Method : PrunerHandle {
  using PrunerHandle::PrunerHandle;
};

/// The array that a method chooses by: its name and its meaning; empty if there is none.
std::pair<std::string, std::string> array_of(const MethodInfo& method) {
  switch (method.needs_scores) {
    case Scores::None:
      return {};
    case Scores::Margins:
      return {"scores", "one per sample, from `MarginScorer`"};
    case Scores::Divergences:
      return {"scores", "one per sample, from `DivergenceScorer`"};
    case Scores::Recalls:
      return {"recalls", "one per class, from `RecallScorer`"};
    case Scores::ErrorNorms:
      return {"scores", "one per sample, from `EL2NScorer`"};
    case Scores::Forgetting:
      return {"scores", "one per sample, from `ForgettingScorer`"};
    case Scores::Uncertainties:
      return {"scores", "one per sample, `UncertaintyScorer.uncertainties`"};
    case Scores::Dual:
      return {"scores", "one per sample, `UncertaintyScorer.dual_scores`"};
  }
  return {};
}

/// The second array of a method, which may be left out.
constexpr const char* MeansName = "mean_probabilities";
constexpr const char* MeansMeaning =
    "one per sample, `UncertaintyScorer.mean_probabilities`; needed by choose \"beta\"";

constexpr const char* LengthsMeaning =
    "tokens of every sample, integers >= 1; budgets and class shares are then in tokens, not in "
    "samples";

/// "fraction removed" as "Fraction removed."
std::string as_sentence(std::string_view text) {
  std::string sentence(text);
  sentence.front() = static_cast<char>(std::toupper(sentence.front()));
  return sentence + ".";
}

/// What Python shows of a method: the signature of its class, and its docstring.
struct Texts {
  std::string signature = "def __init__(self, labels: object, *";
  std::string doc;
};

Texts texts_of(const MethodInfo& method) {
  PrunerOptions options;
  OptionFields fields;
  list_options(fields, method, options);
  Texts texts;
  texts.doc = as_sentence(method.summary) + "\n\nArgs:";
  const auto add_argument = [&](std::string_view name, std::string_view meaning) {
    texts.doc += "\n    " + std::string(name) + ": " + as_sentence(meaning);
  };
  add_argument("labels", "the class of every sample, integers");
  if (const auto [name, meaning] = array_of(method); !name.empty()) {
    texts.signature += ", " + name + ": object";
    add_argument(name, meaning);
  }
  if (method.needs_scores == Scores::Dual) {
    texts.signature += ", " + std::string(MeansName) + ": object | None = None";
    add_argument(MeansName, MeansMeaning);
  }
  for (const Option& option : fields.all()) {
    texts.signature += ", " + std::string(option.name()) + ": " + type_of(option);
    if (!option.is_required()) texts.signature += " = " + value_of(option);
    add_argument(option.name(), option.meaning());
  }
  if (method.takes_lengths) {
    texts.signature += ", lengths: object | None = None";
    add_argument("lengths", LengthsMeaning);
  }
  texts.signature += ", class_count: int | None = None) -> None";
  add_argument("class_count", "number of classes; by default the largest label + 1");
  return texts;
}

/// A Python string may hold lone surrogates, which are not valid text elsewhere.
std::string text_of(nb::handle value) {
  std::string text;
  if (nb::try_cast(value, text, false)) return text;
  PyErr_Clear();
  throw nb::type_error("a string with a lone surrogate is not valid text");
}

/// A number with all of its digits; empty if it is none.
std::string number_word(nb::handle value) {
  if (!PyNumber_Check(value.ptr()) || PyBool_Check(value.ptr())) return {};
  const nb::object number = nb::steal(PyNumber_Float(value.ptr()));
  if (number.is_valid()) return nb::str(number).c_str();
  PyErr_Clear();
  return {};
}

/// Numbers with commas between them; nothing if they are not all numbers.
std::optional<std::string> numbers_word(nb::handle values) {
  if (nb::isinstance<nb::str>(values) || !PySequence_Check(values.ptr())) return std::nullopt;
  const nb::object items = nb::steal(PySequence_List(values.ptr()));
  if (!items.is_valid()) {
    PyErr_Clear();
    return std::nullopt;
  }
  std::string words;
  for (const nb::handle item : nb::cast<nb::list>(items)) {
    const std::string word = number_word(item);
    if (word.empty()) return std::nullopt;
    words += (words.empty() ? "" : ",") + word;
  }
  return words;
}

/// The word for a value; numbers keep all of their digits.
std::string word_of(const Option& option, nb::handle value) {
  const bool is_bool = PyBool_Check(value.ptr());
  switch (option.kind()) {
    case Option::Kind::Flag:
      if (is_bool) return value.ptr() == Py_True ? "on" : "off";
      break;
    case Option::Kind::OptionalCount:
      if (value.is_none()) return "none";
      [[fallthrough]];
    case Option::Kind::Count:
      if (PyIndex_Check(value.ptr()) && !is_bool) {
        return nb::str(nb::steal(PyNumber_Index(value.ptr()))).c_str();
      }
      break;
    case Option::Kind::NumberOrWord:
      if (nb::isinstance<nb::str>(value)) return text_of(value);
      [[fallthrough]];
    case Option::Kind::Number:
      if (const std::string word = number_word(value); !word.empty()) return word;
      break;
    case Option::Kind::Numbers:
      if (const auto words = numbers_word(value)) return *words;
      break;
    default:
      if (nb::isinstance<nb::str>(value)) return text_of(value);
  }
  const std::string type = nb::cast<std::string>(value.type().attr("__name__"));
  throw nb::type_error(
      (std::string(option.name()) + " must be " + type_of(option) + ", not " + type).c_str());
}

/// Takes an entry out of the arguments.
std::optional<nb::object> take(nb::dict& arguments, const std::string& name) {
  if (!arguments.contains(name.c_str())) return std::nullopt;
  nb::object value = arguments[name.c_str()];
  PyDict_DelItemString(arguments.ptr(), name.c_str());
  return value;
}

nb::builtin_exception missing(const MethodInfo& method, std::string_view name) {
  return nb::type_error(
      (std::string(method.python_name) + ": " + std::string(name) + " is missing").c_str());
}

void take_array(const MethodInfo& method, nb::dict& arguments, PrunerOptions& options) {
  const std::string name = array_of(method).first;
  if (name.empty()) return;
  const auto array = take(arguments, name);
  if (!array) throw missing(method, name);
  if (method.needs_scores == Scores::Recalls) {
    options.recalls = numbers_of<double>(name, *array);
  } else {
    options.scores = numbers_of<float>(name, *array);
  }
  if (method.needs_scores != Scores::Dual) return;
  const auto means = take(arguments, MeansName);
  if (means && !means->is_none()) {
    options.mean_probabilities = numbers_of<float>(MeansName, *means);
  }
}

void take_options(const MethodInfo& method, nb::dict& arguments, PrunerOptions& options) {
  OptionFields fields;
  list_options(fields, method, options);
  for (const Option& option : fields.all()) {
    const auto value = take(arguments, std::string(option.name()));
    if (!value && option.is_required()) throw missing(method, option.name());
    if (value) option.set(word_of(option, *value));
  }
  for (const auto& [name, value] : arguments) {
    // An unknown argument is a TypeError in Python.
    const GivenOption unknown{text_of(name), ""};
    try {
      set_options(fields, method, {&unknown, 1}, Reader::Code);
    } catch (const InvalidArgument& error) {
      throw nb::type_error(error.what());
    }
  }
}

MadePruner make(const MethodInfo& method, nb::handle labels, const nb::kwargs& given) {
  nb::dict arguments;
  arguments.update(given);
  std::optional<std::int64_t> class_count;
  if (const auto value = take(arguments, "class_count"); value && !value->is_none()) {
    if (!nb::try_cast(*value, class_count.emplace(), false)) {
      throw nb::type_error("class_count must be an integer of at most 64 bits");
    }
  }
  const nb::object lengths = take(arguments, "lengths").value_or(nb::none());
  PrunerOptions options;
  take_array(method, arguments, options);
  take_options(method, arguments, options);
  MadePruner made{make_pruner(method, classes_of(labels, class_count, lengths), options),
                  std::move(options)};
  const std::string remark = remark_on_budget(*made.pruner, made.options.common.pruning_rate,
                                              given.contains("pruning_rate"));
  if (!remark.empty() && PyErr_WarnEx(PyExc_RuntimeWarning, remark.c_str(), 1) != 0) {
    throw nb::python_error();
  }
  return made;
}

template <std::size_t Number>
void add_method(nb::module_& module, nb::dict& classes) {
  if (Number >= methods().size()) return;
  static const MethodInfo& method = methods()[Number];
  static const Texts texts = texts_of(method);
  const std::string name(method.python_name);
  nb::class_<Method<Number>, PrunerHandle>(module, name.c_str(), texts.doc.c_str())
      .def(
          "__init__",
          [](Method<Number>* self, nb::object labels, nb::kwargs options) {
            new (self) Method<Number>(make(method, labels, options));
          },
          nb::arg("labels"), nb::arg("options"), nb::sig(texts.signature.c_str()))
      .def("__setstate__",
           [](nb::pointer_and_handle<Method<Number>> self, const nb::dict& contents) {
             new (self.p) Method<Number>(remake(method, contents));
             restore_attributes(self.h, contents);
           });
  classes[std::string(method.name).c_str()] = module.attr(name.c_str());
}

}  // namespace

PrunerOptions options_from(const MethodInfo& method, const nb::kwargs& given) {
  nb::dict arguments;
  arguments.update(given);
  PrunerOptions options;
  take_options(method, arguments, options);
  return options;
}

void bind_methods(nb::module_& module) {
  if (methods().size() > MostMethods) throw InternalError("more methods than Python classes");
  nb::dict classes;
  [&]<std::size_t... Numbers>(std::index_sequence<Numbers...>) {
    (add_method<Numbers>(module, classes), ...);
  }
  (std::make_index_sequence<MostMethods>());
  module.attr("_METHODS") = classes;
}

}  // namespace rcap::python
