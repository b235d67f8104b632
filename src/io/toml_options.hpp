#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rcap/core/options.hpp"

namespace rcap {

/// The options of a TOML file without tables: `pruning-rate = 0.9`. Numbers, texts, true and false
/// become words; a list of texts becomes words with commas between them.
/// @throws BadFile          the file cannot be read, or is not TOML: names the line
/// @throws InvalidArgument  a value that is none of these: names the line
[[nodiscard]] std::vector<GivenOption> read_toml_options(const std::filesystem::path& path);

/// Options as the lines of a TOML file.
/// @param fields  tells which of them are numbers
[[nodiscard]] std::string to_toml(std::span<const GivenOption> options, const OptionFields& fields);

}  // namespace rcap
