#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "rcap/core/class_index.hpp"
#include "rcap/core/error.hpp"

namespace rcap::python {

namespace nb = nanobind;

/// A one-dimensional array in main memory, not copied if it is one already: NumPy arrays, tensors,
/// anything that numpy.asarray accepts.
using Array = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Whether it is a masked array of NumPy, whose mask any other reader would overlook.
[[nodiscard]] bool is_masked(nb::handle object);

/// @param name  what messages call it
/// @throws InvalidArgument  not of one dimension, or masked
[[nodiscard]] Array as_array(const std::string& name, nb::handle object);

/// The numbers as 64-bit ids; `storage` is used only if they have another type.
[[nodiscard]] std::span<const SampleId> as_ids(const std::string& name, const Array& array,
                                               std::vector<SampleId>& storage);

/// @param lengths  of the samples; None if they have none
/// @throws InvalidArgument  labels or lengths that are not integers, or out of range
[[nodiscard]] std::shared_ptr<const ClassIndex> classes_of(nb::handle labels,
                                                           std::optional<std::int64_t> class_count,
                                                           nb::handle lengths = nb::none());

/// An array that owns the vector's memory.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> as_numpy(std::vector<T> values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owned->data();
  const std::size_t size = owned->size();
  const nb::capsule owner(owned.release(), [](void* pointer) noexcept {
    delete static_cast<std::vector<T>*>(pointer);
  });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner);
}

[[noreturn]] void refuse_type(const std::string& name, const char* expected,
                              nb::dlpack::dtype type);

template <class T>
std::span<const T> span_of(const Array& array) {
  return {static_cast<const T*>(array.data()), array.size()};
}

/// Calls `use(span)` with the integers of an array in their own type.
/// @throws InvalidArgument  not integers
template <class Use>
decltype(auto) with_integers(const std::string& name, const Array& array, Use&& use) {
  const nb::dlpack::dtype type = array.dtype();
  if (type == nb::dtype<std::int64_t>()) return use(span_of<std::int64_t>(array));
  if (type == nb::dtype<std::int32_t>()) return use(span_of<std::int32_t>(array));
  if (type == nb::dtype<std::int16_t>()) return use(span_of<std::int16_t>(array));
  if (type == nb::dtype<std::int8_t>()) return use(span_of<std::int8_t>(array));
  if (type == nb::dtype<std::uint64_t>()) return use(span_of<std::uint64_t>(array));
  if (type == nb::dtype<std::uint32_t>()) return use(span_of<std::uint32_t>(array));
  if (type == nb::dtype<std::uint16_t>()) return use(span_of<std::uint16_t>(array));
  if (type == nb::dtype<std::uint8_t>()) return use(span_of<std::uint8_t>(array));
  refuse_type(name, "integers", type);
}

/// An array seen through Python's buffer protocol, the fastest way to its numbers.
class Buffer {
 public:
  explicit Buffer(nb::handle object)
      : open_(PyObject_CheckBuffer(object.ptr()) != 0 &&
              PyObject_GetBuffer(object.ptr(), &view_, PyBUF_CONTIG_RO | PyBUF_FORMAT) == 0) {
    if (!open_) PyErr_Clear();
  }
  ~Buffer() {
    if (open_) PyBuffer_Release(&view_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// Whether these are numbers of this type in one dimension.
  template <class Number>
  [[nodiscard]] bool holds() const noexcept {
    if (!open_ || view_.ndim != 1 || view_.itemsize != sizeof(Number)) return false;
    const std::string_view format = view_.format == nullptr ? "" : view_.format;
    if constexpr (std::is_same_v<Number, float>) return format == "f";
    if constexpr (std::is_same_v<Number, std::int64_t>) return format == "l" || format == "q";
  }

  template <class Number>
  [[nodiscard]] std::span<const Number> span() const noexcept {
    return {static_cast<const Number*>(view_.buf),
            static_cast<std::size_t>(view_.len) / sizeof(Number)};
  }

 private:
  Py_buffer view_{};
  bool open_;
};

/// A copy of numbers in either precision.
template <class T>
std::vector<T> numbers_of(const std::string& name, nb::handle object) {
  const Array array = as_array(name, object);
  const auto copy = [](auto values) { return std::vector<T>(values.begin(), values.end()); };
  if (array.dtype() == nb::dtype<float>()) return copy(span_of<float>(array));
  if (array.dtype() == nb::dtype<double>()) return copy(span_of<double>(array));
  refuse_type(name, "float32 or float64", array.dtype());
}

}  // namespace rcap::python
