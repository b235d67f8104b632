#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "data/images/path_list.hpp"
#include "rcap/core/error.hpp"

namespace rcap {

/// A text file, read line by line, and the one way to refuse a line of it.
///
/// Lines end in LF or CR LF; the last one may end without either. A byte order mark is skipped.
class TextTable {
 public:
  /// Reads the whole file.
  /// @throws BadFile  no such file, an empty one, more than `most_bytes`
  explicit TextTable(const std::filesystem::path& path, std::uint64_t most_bytes = 1U << 28U,
                     std::size_t most_line_bytes = 1U << 16U);

  /// The next line without its end; valid as long as the object.
  /// @return whether there is one
  /// @throws BadFile  a zero byte, text that is not UTF-8, a line of more than
  ///                  `most_line_bytes`
  [[nodiscard]] bool next(std::string_view& line);

  /// Counted from 1; 0 before the first line.
  [[nodiscard]] std::int64_t line_number() const noexcept { return line_number_; }

  /// @throws BadFile  "FILE, line N: WHAT", with the values in the braces of `what`
  template <class... T>
  [[noreturn]] void refuse(fmt::format_string<T...> what, T&&... values) const {
    refuse(line_number_, what, std::forward<T>(values)...);
  }
  /// The same for a line that was read before.
  template <class... T>
  [[noreturn]] void refuse(std::int64_t line_number, fmt::format_string<T...> what,
                           T&&... values) const {
    throw BadFile(fmt::format("{}, line {}: {}", path_.string(), line_number,
                              fmt::format(what, std::forward<T>(values)...)));
  }

 private:
  std::filesystem::path path_;
  std::size_t most_line_bytes_;
  std::string text_;
  std::size_t position_ = 0;
  std::int64_t line_number_ = 0;
};

/// Splits a line at commas. A field may be in double quotes, with two for one inside.
/// @throws BadFile  a quote that is not closed, or is in the middle of a field
void split_csv(const TextTable& table, std::string_view line, std::vector<std::string>& fields);

/// The fields of the next record, `split_csv` of its line; a record with a quoted line break
/// continues in the following lines.
/// @return whether there is one
/// @throws BadFile  like `split_csv`; a quote that no line closes
[[nodiscard]] bool next_record(TextTable& table, std::vector<std::string>& fields);

/// Splits a line at runs of blanks and tabs; those at its ends are ignored.
void split_blanks(std::string_view line, std::vector<std::string>& fields);

/// The number that `field` spells in digits, from `least` to `most`.
/// @param what  the name of the field, for the message
/// @throws BadFile  anything else: a sign, a blank, a fraction, a number out of range
[[nodiscard]] std::int64_t parse_number(const TextTable& table, std::string_view what,
                                        std::string_view field, std::int64_t least,
                                        std::int64_t most);

/// What is wrong with a file name in a list; empty if nothing is. It must stay below the folder of
/// the list: no absolute path, no "..", no empty part.
[[nodiscard]] std::string_view fault_of_file_name(std::string_view name) noexcept;

/// @throws BadFile  a name with a fault
void check_file_name(const TextTable& table, std::string_view name);

/// @param first_line  the table's line with the first path; one path per line
/// @throws BadFile  a path that appears twice; names both lines
void check_no_repeats(const TextTable& table, const PathList& files, std::int64_t first_line);

}  // namespace rcap
