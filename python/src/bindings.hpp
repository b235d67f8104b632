#pragma once

#include <memory>

#include <nanobind/nanobind.h>

#include "rcap/core/pruner.hpp"

namespace rcap::python {

namespace nb = nanobind;

/// What a Python object of a method holds.
struct PrunerHandle {
  std::unique_ptr<Pruner> pruner;
  std::uint64_t seed = 0;
};

void bind_errors(nb::module_& module);   ///< the exceptions of the core, with their texts
void bind_pruner(nb::module_& module);   ///< what every method has: Pruner, Selection
void bind_methods(nb::module_& module);  ///< a class for every method
void bind_scorers(nb::module_& module);  ///< what static methods listen with

}  // namespace rcap::python
