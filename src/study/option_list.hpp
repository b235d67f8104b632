#pragma once

#include <span>
#include <string>
#include <vector>

#include "train/options.hpp"

namespace rcap {

/// The value as the command line takes it: without the quotes that TOML puts around a text.
[[nodiscard]] std::string unquoted(const std::string& toml_value);
[[nodiscard]] std::vector<NamedOption> unquoted(std::span<const NamedOption> options);

/// The value of an option, unquoted; empty where it is not in the list.
[[nodiscard]] std::string value_of(std::span<const NamedOption> options, const std::string& name);

/// A name as part of a folder's name: small letters, digits, dots and dashes.
[[nodiscard]] std::string as_file_name(const std::string& name);

}  // namespace rcap
