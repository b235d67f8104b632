#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rcap/core/ids.hpp"

namespace rcap {

/// Different values in order of first appearance. A value's place is its code.
class ValueList {
 public:
  /// The code of a value, which is added if it is new.
  std::uint32_t code_of(std::string_view value);

  [[nodiscard]] std::span<const std::string> values() const noexcept { return values_; }
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  std::vector<std::string> values_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> codes_;
};

/// A column of a table as its file has it: all numbers, or values that are not.
///
/// Which of the two is known only at the end: one word makes a column of numbers a column of
/// categories. So both are kept, the values until there are too many for categories.
class TableColumn {
 public:
  static constexpr std::size_t MostCategories = 1000;

  explicit TableColumn(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool is_numeric() const noexcept { return is_numeric_; }

  /// Appends a row.
  /// @param number  what the text says, if it is a number
  /// @return false if the column has neither numbers nor few enough categories
  [[nodiscard]] bool add(std::string_view text, std::optional<double> number);
  /// Appends a row that is a number in its file.
  void add(double number) { numbers_.push_back(number); }

  /// One per row, if the column is numeric.
  [[nodiscard]] std::span<const double> numbers() const noexcept { return numbers_; }
  /// One per row, if it is not: places in `categories`.
  [[nodiscard]] std::span<const std::uint16_t> codes() const noexcept { return codes_; }
  [[nodiscard]] std::span<const std::string> categories() const noexcept {
    return categories_.values();
  }

 private:
  std::string name_;
  bool is_numeric_ = true;
  bool has_categories_ = true;
  std::vector<double> numbers_;
  std::vector<std::uint16_t> codes_;
  ValueList categories_;
};

/// A table before it is split and encoded: the contents of one file, or of two with equal columns.
struct TableCells {
  std::vector<TableColumn> columns;  ///< without the label column
  std::string label_name;
  ValueList label_values;
  std::vector<std::uint32_t> labels;  ///< one per row: codes of `label_values`

  [[nodiscard]] std::int64_t row_count() const noexcept { return std::ssize(labels); }

  /// Names the columns of a table that has none yet; otherwise they must be the same.
  /// @param path   of the file that has these columns
  /// @param names  all of them
  /// @param label  the place of the label column
  /// @throws BadFile  there is no other column, or the columns differ from those of another file
  void set_columns(const std::filesystem::path& path, std::span<const std::string> names,
                   std::size_t label);
  /// Appends the label of a row.
  /// @throws BadFile  more than 10,000 classes
  void add_label(const std::filesystem::path& path, std::string_view label);
};

/// Rows with missing values: the first one is named, all are counted.
class MissingValues {
 public:
  /// @param row    a number that no other row of the file has
  /// @param place  of the value: "line 7, column "age""
  /// @param value  what is there instead
  void add(std::int64_t row, std::string place, std::string_view value);

  [[nodiscard]] bool any() const noexcept { return count_ > 0; }
  /// @throws BadFile  if there are any
  void refuse(const std::filesystem::path& path, std::int64_t row_count) const;

 private:
  std::int64_t count_ = 0;
  std::int64_t last_row_ = -1;
  std::string first_place_;
  std::string first_value_;
};

}  // namespace rcap
