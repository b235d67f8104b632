#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/quoting.hpp"
#include "data/tables/read_table.hpp"
#include "data/text_table.hpp"
#include "io/npy.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

/// Above it, different whole numbers are the same double, and different classes would become one.
constexpr double LargestLabel = 9007199254740992.0;

std::size_t find_label_column(const fs::path& path, std::string_view name, std::size_t columns) {
  if (name.empty()) return columns - 1;
  std::size_t number = 0;
  const char* const name_end = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data(), name_end, number);
  if (error == std::errc{} && end == name_end && number < columns) return number;
  refuse_file(path,
              "there is no column {}; the columns are numbered from 0 to {}; give the one with the "
              "classes as label-column",
              in_quotes(name), columns - 1);
}

void check_numbers(const fs::path& path, const NumberTable& table) {
  MissingValues missing;
  const auto columns = static_cast<std::size_t>(table.columns);
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    const double value = table.values[i];
    if (std::isfinite(value)) continue;
    std::string place = fmt::format("row {}, column {} (from 0)", i / columns, i % columns);
    if (std::isinf(value)) refuse_file(path, "{} is {}; numbers must be finite", place, value);
    missing.add(static_cast<std::int64_t>(i / columns), std::move(place), "nan");
  }
  missing.refuse(path, table.rows);
}

std::string label_text(const fs::path& path, std::int64_t row, double value) {
  if (value == std::trunc(value) && std::abs(value) <= LargestLabel) {
    return fmt::format("{}", static_cast<std::int64_t>(value));
  }
  refuse_file(path,
              "row {} (from 0): the label is {}; classes must be whole numbers; give the column "
              "with the classes as label-column",
              row, value);
}

}  // namespace

void read_npy_table(const fs::path& path, std::string_view label_column, TableCells& cells) {
  const NumberTable table = read_number_table(path, "table");
  if (table.values.empty()) refuse_file(path, "holds no rows");
  check_numbers(path, table);
  const auto columns = static_cast<std::size_t>(table.columns);
  const std::size_t label = find_label_column(path, label_column, columns);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < columns; ++i) names.push_back(fmt::format("{}", i));
  cells.set_columns(path, names, label);
  const double* value = table.values.data();
  for (std::int64_t row = 0; row < table.rows; ++row) {
    auto column = cells.columns.begin();
    for (std::size_t i = 0; i < columns; ++i, ++value) {
      if (i == label) {
        cells.add_label(path, label_text(path, row, *value));
      } else {
        (column++)->add(*value);
      }
    }
  }
}

}  // namespace rcap
