#pragma once

#include <string>

namespace rcap::portable {

/// Saves states and loads them again, as each kind of system does in its own way.
/// @return what is wrong; empty if nothing is
[[nodiscard]] std::string check_files();

}  // namespace rcap::portable
