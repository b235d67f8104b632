#pragma once

#include <memory>

#include "rcap/core/pruner.hpp"

namespace rcap::python {

/// What a Python object of a method holds.
struct PrunerHandle {
  std::unique_ptr<Pruner> pruner;
  std::uint64_t seed = 0;
};

}  // namespace rcap::python
