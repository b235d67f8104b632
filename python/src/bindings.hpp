#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include <nanobind/nanobind.h>

#include "rcap/core/make_pruner.hpp"

namespace rcap::python {

namespace nb = nanobind;

/// A pruner and everything that it was made with, except its labels.
struct MadePruner {
  std::unique_ptr<Pruner> pruner;
  PrunerOptions options;
};

/// What a Python object of a method holds.
struct PrunerHandle : MadePruner {
  explicit PrunerHandle(MadePruner made) : MadePruner(std::move(made)) {}

  mutable std::mutex mutex;  ///< see `Turn`
};

/// While it lives, no other Python thread uses the pruner. A thread that has to wait releases the
/// interpreter's lock: the thread it waits for may need it to finish.
///
/// Nothing that could run Python code may be called meanwhile: that code could ask for a turn.
class Turn {
 public:
  explicit Turn(const PrunerHandle& handle) : lock_(handle.mutex, std::try_to_lock) {
    if (lock_) return;
    const nb::gil_scoped_release released;
    lock_.lock();
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

/// The options of a method from keyword arguments.
/// @throws InvalidArgument, TypeError  an unknown option, or a value that is none
[[nodiscard]] PrunerOptions options_from(const MethodInfo& method, const nb::kwargs& given);

void bind_advise(nb::module_& module);   ///< whether pruning will help
void bind_errors(nb::module_& module);   ///< the exceptions of the core, with their messages
void bind_filter(nb::module_& module);   ///< what an epoch keeps, for streams
void bind_pruner(nb::module_& module);   ///< what every method has: Pruner, Selection
void bind_methods(nb::module_& module);  ///< a class for every method
void bind_scorers(nb::module_& module);  ///< scores for static methods
void bind_sharded(nb::module_& module);  ///< a pruner whose data set is cut into shards

}  // namespace rcap::python
