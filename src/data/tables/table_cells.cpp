#include "data/tables/table_cells.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/quoting.hpp"
#include "data/text_table.hpp"
#include "io/refuse_file.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

/// More are ids or measurements, not classes.
constexpr std::size_t MostClasses = 10'000;

}  // namespace

std::uint32_t ValueList::code_of(std::string_view value) {
  const auto known = codes_.find(value);
  if (known != codes_.end()) return known->second;
  const auto code = static_cast<std::uint32_t>(values_.size());
  values_.emplace_back(value);
  codes_.emplace(value, code);
  return code;
}

bool TableColumn::add(std::string_view text, std::optional<double> number) {
  if (is_numeric_ && number) {
    numbers_.push_back(*number);
  } else if (is_numeric_) {
    is_numeric_ = false;
    numbers_ = {};
  }
  if (has_categories_) {
    codes_.push_back(static_cast<std::uint16_t>(categories_.code_of(text)));
    if (categories_.size() > MostCategories) {
      has_categories_ = false;
      categories_ = {};
      codes_ = {};
    }
  }
  return is_numeric_ || has_categories_;
}

void TableCells::set_columns(const fs::path& path, std::span<const std::string> names,
                             std::size_t label) {
  if (names.size() < 2) {
    refuse_file(path, "its only column is {}; there must be one besides the labels",
                in_quotes(names[label]));
  }
  std::vector<std::string> others(names.begin(), names.end());
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(label));
  if (columns.empty()) {
    label_name = names[label];
    for (std::string& name : others) columns.emplace_back(std::move(name));
    return;
  }
  const bool same = std::ranges::equal(others, columns, {}, {}, &TableColumn::name);
  if (same && label_name == names[label]) return;
  for (const std::string& name : others) {
    if (std::ranges::count(columns, name, &TableColumn::name) > 0) continue;
    refuse_file(
        path,
        "has a column {}, which the training rows lack; both splits must have the same columns",
        in_quotes(name));
  }
  refuse_file(path,
              "has {} columns, the training rows have {}; both splits must have the same ones in "
              "the same order",
              names.size(), columns.size() + 1);
}

void TableCells::add_label(const fs::path& path, std::string_view label) {
  labels.push_back(label_values.code_of(label));
  if (label_values.size() <= MostClasses) return;
  refuse_file(path,
              "the label column {} has more than {} different values in {} rows; give the one with "
              "the classes as label-column",
              in_quotes(label_name), MostClasses, row_count());
}

void MissingValues::add(std::int64_t row, std::string place, std::string_view value) {
  if (!any()) {
    first_place_ = std::move(place);
    first_value_ = value;
  }
  if (row != last_row_) ++count_;
  last_row_ = row;
}

void MissingValues::refuse(const fs::path& path, std::int64_t row_count) const {
  if (!any()) return;
  throw BadFile(fmt::format(
      "{}, {}: the value is missing ({}); {} of {} rows lack one; leave such rows out, or fill in "
      "the mean of the column for a number, a word like unknown for a category",
      path.string(), first_place_, in_quotes(first_value_), count_, row_count));
}

}  // namespace rcap
