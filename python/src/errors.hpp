#pragma once

#include <nanobind/nanobind.h>

namespace rcap::python {

namespace nb = nanobind;

/// The exceptions of the core, with their texts, as Python classes.
void bind_errors(nb::module_& module);

}  // namespace rcap::python
