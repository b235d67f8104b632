#pragma once

#include <string>

#include "rcap/core/options.hpp"

namespace rcap::python {

/// The type of an option as Python writes it: "float", "typing.Literal['paper', 'mass']".
[[nodiscard]] std::string type_of(const Option& option);

/// The value of an option as Python writes it: 0.9, True, 'paper'.
[[nodiscard]] std::string value_of(const Option& option);

}  // namespace rcap::python
