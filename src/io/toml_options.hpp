#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rcap/core/options.hpp"

namespace rcap {

/// The options of a TOML file without tables: `pruning-rate = 0.9`. Numbers, strings, true and
/// false become words; a list of strings becomes words separated by commas.
/// @throws BadFile          the file cannot be read, or is not TOML: names the line
/// @throws InvalidArgument  a value of another type: names the line
[[nodiscard]] std::vector<GivenOption> read_toml_options(const std::filesystem::path& path);

/// Options as the lines of a TOML file.
/// @param fields  says which of them are numbers
[[nodiscard]] std::string to_toml(std::span<const GivenOption> options, const OptionFields& fields);

}  // namespace rcap
