#include <exception>

#include "bindings.hpp"
#include "rcap/core/error.hpp"

namespace rcap::python {
namespace {

/// Makes a Python class for an exception of the core; both live as long as the interpreter.
template <class Exception>
nb::handle add(nb::module_& module, const char* name, const char* meaning, nb::object bases) {
  const std::string full = std::string("rcap.") + name;
  const nb::handle type = PyErr_NewExceptionWithDoc(full.c_str(), meaning, bases.ptr(), nullptr);
  module.attr(name) = type;
  const auto translate = [](const std::exception_ptr& pointer, void* raised) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Exception& error) {
      // A path may hold any bytes; those that are not text are escaped as in Python's file names.
      const nb::object text = nb::steal(PyUnicode_DecodeFSDefault(error.what()));
      PyErr_SetObject(static_cast<PyObject*>(raised), text.ptr());
    }
  };
  nb::register_exception_translator(translate, type.ptr());
  return type;
}

}  // namespace

void bind_errors(nb::module_& module) {
  // The last translator is tried first, so the base, which catches all, comes first.
  const nb::handle base = add<Error>(module, "Error", "Base of everything rcap raises on purpose.",
                                     nb::make_tuple(nb::handle(PyExc_Exception)));
  add<InvalidArgument>(module, "InvalidArgument",
                       "An argument breaks a documented condition; the caller can correct it.",
                       nb::make_tuple(base, nb::handle(PyExc_ValueError)));
  add<BadFile>(module, "BadFile",
               "A file or state cannot be read or written, or is not what it claims to be.",
               nb::make_tuple(base, nb::handle(PyExc_OSError)));
  add<StateMismatch>(module, "StateMismatch",
                     "A valid state, but of another data set, method, option or version.",
                     nb::make_tuple(base, nb::handle(PyExc_ValueError)));
  add<InternalError>(module, "InternalError", "A bug in rcap itself; please report it.",
                     nb::make_tuple(base, nb::handle(PyExc_RuntimeError)));
}

}  // namespace rcap::python
