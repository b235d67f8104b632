#include <nanobind/stl/string_view.h>

#include "base/version.hpp"
#include "bindings.hpp"

NB_MODULE(_core, module) {
  // A process that a framework spawns may exit with pruners alive; that is not an error.
  nanobind::set_leak_warnings(false);
  module.doc() = "The pruning methods of rcap.";
  module.attr("__version__") = rcap::version();
  module.attr("__revision__") = rcap::revision();
  rcap::python::bind_errors(module);
  rcap::python::bind_filter(module);
  rcap::python::bind_pruner(module);
  rcap::python::bind_methods(module);
  rcap::python::bind_scorers(module);
  rcap::python::bind_sharded(module);
  rcap::python::bind_advise(module);
}
