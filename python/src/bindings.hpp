#pragma once

#include <nanobind/nanobind.h>

namespace rcap::python {

namespace nb = nanobind;

void bind_pruner(nb::module_& module);   ///< what every method has: Pruner, Selection
void bind_methods(nb::module_& module);  ///< a class for every method
void bind_scorers(nb::module_& module);  ///< what static methods listen with

}  // namespace rcap::python
