#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rcap::cli {

/// What a terminal may show in another colour; elsewhere all look the same.
enum class Ink : std::uint8_t { Plain, Strong, Faint, First, Second, Good, Bad };

/// A rectangle of a canvas.
struct Area {
  int row = 0;
  int column = 0;
  int rows = 0;
  int columns = 0;
};

/// A picture made of characters, each in one cell. Whatever lies outside is cut off.
class TextCanvas {
 public:
  TextCanvas(int columns, int rows);

  [[nodiscard]] int columns() const noexcept { return columns_; }
  [[nodiscard]] int rows() const noexcept { return rows_; }

  /// Writes UTF-8 from a cell on. Control characters and invalid bytes become question marks, so
  /// that names of folders and classes cannot control the terminal.
  /// @return the column after it
  int write(int row, int column, std::string_view text, Ink ink = Ink::Plain);
  /// Writes so that the text ends before a column.
  void write_before(int row, int end, std::string_view text, Ink ink = Ink::Plain);
  void put(int row, int column, char32_t character, Ink ink);

  /// The rows, without trailing blanks; with terminal codes for the inks, if requested.
  [[nodiscard]] std::vector<std::string> lines(bool colours) const;

 private:
  struct Cell {
    char32_t character = U' ';
    Ink ink = Ink::Plain;
  };

  [[nodiscard]] std::string line(int row, bool colours) const;

  int columns_;
  int rows_;
  std::vector<Cell> cells_;
};

/// The characters of UTF-8, with a question mark for each control character or invalid byte.
[[nodiscard]] std::u32string characters_of(std::string_view text);

/// At most this many characters; the last one is "…" if something is left out.
[[nodiscard]] std::string shortened(std::string_view text, int most);
/// The same, with the beginning left out.
[[nodiscard]] std::string end_of(std::string_view text, int most);

}  // namespace rcap::cli
