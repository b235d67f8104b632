#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "io/toml_headers.hpp"

namespace rcap {

/// A TOML file, and the one way to refuse a part of it: "PATH:LINE: what".
class TomlFile {
 public:
  /// @throws BadFile  the file cannot be read, or is not TOML: names the line
  explicit TomlFile(const std::filesystem::path& path);

  [[nodiscard]] const toml::table& table() const noexcept { return table_; }
  /// @throws InvalidArgument  always
  [[noreturn]] void refuse(const toml::node& node, const std::string& what) const;
  /// The value of an option as a word: 0.9, on, paper; "a,b" for a list of strings.
  /// @throws InvalidArgument  it is not a value that an option could have
  [[nodiscard]] std::string word_of(const toml::node& node, std::string_view option) const;

 private:
  std::filesystem::path path_;
  toml::table table_;
};

}  // namespace rcap
