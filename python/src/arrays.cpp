#include "arrays.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rcap::python {
namespace {

std::string type_name(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  const std::string bits = std::to_string(static_cast<int>(type.bits));
  switch (static_cast<Code>(type.code)) {
    case Code::Int:
      return "int" + bits;
    case Code::UInt:
      return "uint" + bits;
    case Code::Float:
      return "float" + bits;
    case Code::Bfloat:
      return "bfloat" + bits;
    case Code::Bool:
      return "bool";
    default:
      return "a type of " + bits + " bits";
  }
}

}  // namespace

// By its name. An array of NumPy itself is not of a class that Python made, as masked ones are, and
// is let through at once: asking for the name would take longer than much of the rest.
bool is_masked(nb::handle object) {
  if ((PyType_GetFlags(Py_TYPE(object.ptr())) & Py_TPFLAGS_HEAPTYPE) == 0) return false;
  const nb::str name(object.type().attr("__name__"));
  return std::strcmp(name.c_str(), "MaskedArray") == 0;
}

Array as_array(const std::string& name, nb::handle object) {
  if (is_masked(object)) {
    throw InvalidArgument(name +
                          " are a masked array, whose masked entries have no value; give the valid "
                          "ones: compressed(), or data if all are");
  }
  Array array;
  if (nb::try_cast(object, array, false)) return array;
  const nb::object numpy = nb::module_::import_("numpy");
  // Checked on the input: ascontiguousarray turns a single number into an array of one dimension.
  const nb::object given = numpy.attr("asarray")(object);
  const bool fits = nb::cast<int>(given.attr("ndim")) == 1;
  if (fits && nb::try_cast(numpy.attr("ascontiguousarray")(given), array)) return array;
  const nb::str found =
      nb::str("{} of {} and shape {}")
          .format(object.type().attr("__name__"), given.attr("dtype"), given.attr("shape"));
  throw InvalidArgument(name + " must be a one-dimensional array of numbers, not " + found.c_str());
}

std::span<const SampleId> as_ids(const std::string& name, const Array& array,
                                 std::vector<SampleId>& storage) {
  if (array.dtype() == nb::dtype<SampleId>()) return span_of<SampleId>(array);
  return with_integers(name, array, [&](auto numbers) -> std::span<const SampleId> {
    storage.assign(numbers.begin(), numbers.end());
    return storage;
  });
}

std::shared_ptr<const ClassIndex> classes_of(nb::handle labels,
                                             std::optional<std::int64_t> class_count,
                                             nb::handle lengths) {
  if (class_count && !std::in_range<ClassId>(*class_count)) {
    throw InvalidArgument("class_count is " + std::to_string(*class_count) +
                          "; there cannot be that many classes");
  }
  const std::optional<ClassId> count(class_count);
  const Array array = as_array("labels", labels);
  if (array.size() == 0) {
    throw InvalidArgument("labels are empty; a data set has at least one sample");
  }
  return with_integers("labels", array, [&](auto values) {
    ClassIndex classes(values, count);
    if (lengths.is_none()) return std::make_shared<const ClassIndex>(std::move(classes));
    return with_integers("lengths", as_array("lengths", lengths), [&](auto tokens) {
      return std::make_shared<const ClassIndex>(std::move(classes).with_lengths(tokens));
    });
  });
}

void refuse_type(const std::string& name, const char* expected, nb::dlpack::dtype type) {
  throw InvalidArgument(name + " must be " + expected + ", not " + type_name(type));
}

}  // namespace rcap::python
