#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <nanobind/nanobind.h>

namespace rcap::python {

/// An array seen through Python's buffer protocol, the quickest way there is to its numbers.
class Buffer {
 public:
  explicit Buffer(nanobind::handle object)
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

}  // namespace rcap::python
