#include "errors.hpp"

#include <exception>

#include "rcap/core/error.hpp"

namespace rcap::python {
namespace {

/// The exceptions of the module, each also an exception of Python's own kind.
struct Exceptions {
  nb::object error, invalid_argument, bad_file, state_mismatch, internal_error;
};

Exceptions& exceptions() {
  static auto* all = new Exceptions;  // lives as long as the interpreter
  return *all;
}

nb::object add(nb::module_& module, const char* name, const char* meaning, nb::object bases) {
  const std::string full = std::string("rcap.") + name;
  nb::object type =
      nb::steal(PyErr_NewExceptionWithDoc(full.c_str(), meaning, bases.ptr(), nullptr));
  module.attr(name) = type;
  return type;
}

void translate(const std::exception_ptr& pointer, void*) {
  const Exceptions& types = exceptions();
  const auto raise = [](const nb::object& type, const std::exception& error) {
    PyErr_SetString(type.ptr(), error.what());
  };
  try {
    std::rethrow_exception(pointer);
  } catch (const InvalidArgument& error) {
    raise(types.invalid_argument, error);
  } catch (const BadFile& error) {
    raise(types.bad_file, error);
  } catch (const StateMismatch& error) {
    raise(types.state_mismatch, error);
  } catch (const InternalError& error) {
    raise(types.internal_error, error);
  } catch (const Error& error) {
    raise(types.error, error);
  }
}

}  // namespace

void bind_errors(nb::module_& module) {
  Exceptions& types = exceptions();
  types.error = add(module, "Error", "Base of everything rcap raises on purpose.",
                    nb::make_tuple(nb::handle(PyExc_Exception)));
  types.invalid_argument =
      add(module, "InvalidArgument", "An argument breaks a condition; the caller can mend it.",
          nb::make_tuple(types.error, nb::handle(PyExc_ValueError)));
  types.bad_file = add(module, "BadFile",
                       "A file or state cannot be read or written, or is not what it claims to be.",
                       nb::make_tuple(types.error, nb::handle(PyExc_OSError)));
  types.state_mismatch = add(module, "StateMismatch",
                             "A sound state, but of another data set, method, option or version.",
                             nb::make_tuple(types.error, nb::handle(PyExc_ValueError)));
  types.internal_error = add(module, "InternalError", "A fault of rcap itself; please report it.",
                             nb::make_tuple(types.error, nb::handle(PyExc_RuntimeError)));
  nb::register_exception_translator(translate);
}

}  // namespace rcap::python
