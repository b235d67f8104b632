#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "bindings.hpp"
#include "rcap/core/filter.hpp"

namespace rcap::python {

/// A filter, and the file that it is in, if any: other processes find it there.
struct PyFilter {
  Filter filter;
  std::optional<std::filesystem::path> path;
};

/// What an epoch keeps, selected if it is not the current one already; by default the current one.
[[nodiscard]] PyFilter filter_of(PrunerHandle& self, std::optional<std::int64_t> epoch);

}  // namespace rcap::python
