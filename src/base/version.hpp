#pragma once

#include <string>
#include <string_view>

namespace rcap {

/// "0.2.0", from the CMakeLists.txt of the top folder.
[[nodiscard]] std::string_view version() noexcept;

/// The commit that was built, "1a2b3c4", with "+dirty" behind it if tracked files had been changed;
/// empty if the sources were not a Git checkout.
[[nodiscard]] std::string_view revision() noexcept;

/// "0.2.0 (1a2b3c4)", or the version alone.
[[nodiscard]] std::string version_and_revision();

}  // namespace rcap
