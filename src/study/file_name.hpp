#pragma once

#include <string>

namespace rcap {

/// A name as part of a folder's name: small letters, digits, dots and dashes.
[[nodiscard]] std::string as_file_name(const std::string& name);

}  // namespace rcap
