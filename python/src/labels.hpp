#pragma once

#include <memory>
#include <optional>

#include "arrays.hpp"
#include "rcap/core/class_index.hpp"

namespace rcap::python {

/// @throws InvalidArgument  labels that are no integers, or out of range
[[nodiscard]] std::shared_ptr<const ClassIndex> classes_of(nb::handle labels,
                                                           std::optional<std::int64_t> class_count);

}  // namespace rcap::python
