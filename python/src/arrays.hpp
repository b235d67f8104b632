#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "rcap/core/error.hpp"
#include "rcap/core/ids.hpp"

namespace rcap::python {

namespace nb = nanobind;

/// A one-dimensional array in main memory, without a copy where there is one already: NumPy
/// arrays, tensors, anything that numpy.asarray takes.
using Array = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// @param name  what messages call it
/// @throws InvalidArgument  not of one dimension
[[nodiscard]] Array as_array(const std::string& name, nb::handle object);

/// Calls `use(span)` with the integers of an array in their own type.
/// @throws InvalidArgument  not integers
template <class Use>
decltype(auto) with_integers(const std::string& name, const Array& array, Use&& use);

/// The numbers as 64-bit ids; `storage` is used only where they have another type.
[[nodiscard]] std::span<const SampleId> as_ids(const std::string& name, const Array& array,
                                               std::vector<SampleId>& storage);

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

}  // namespace rcap::python
