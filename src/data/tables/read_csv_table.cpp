#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/nearest_name.hpp"
#include "base/quoting.hpp"
#include "data/tables/read_table.hpp"
#include "data/text_table.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t MostBytes = std::uint64_t{1} << 32U;
constexpr std::size_t MostLineBytes = std::size_t{1} << 24U;
constexpr std::size_t MostNamesShown = 20;
constexpr std::string_view UsualLabel = "label";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// The number that a field contains; infinite if it is too large for one.
std::optional<double> number_in(std::string_view value) {
  if (value.starts_with('+')) value.remove_prefix(1);
  if (value.starts_with('+')) return std::nullopt;
  double number = 0;
  const char* const value_end = value.data() + value.size();
  const auto [end, error] = std::from_chars(value.data(), value_end, number);
  if (end != value_end || error == std::errc::invalid_argument) return std::nullopt;
  // Too large or too small: only strtod tells which.
  if (error == std::errc::result_out_of_range)
    return std::strtod(std::string(value).c_str(), nullptr);
  return number;
}

bool is_missing(std::string_view value) {
  if (value.empty() || value == "NA" || value == "?") return true;
  const bool looks_like_nan = value.find_first_of("nN") <= 1;
  return looks_like_nan && std::isnan(number_in(value).value_or(0));
}

/// One file that is being read.
class CsvTable {
 public:
  CsvTable(const fs::path& path, std::string_view label_column, TableCells& cells)
      : path_(path), cells_(cells), records_(path, MostBytes, MostLineBytes) {
    read_header(label_column.empty() ? UsualLabel : label_column);
    while (next_row()) add_row();
    missing_.refuse(path_, row_count_);
    if (row_count_ == 0) records_.refuse("is only the header; there are no rows");
  }

 private:
  void read_header(std::string_view label_column) {
    if (!next_record(records_, fields_)) records_.refuse("the file has no header line");
    for (std::string& name : fields_) name = trimmed(name);
    check_names();
    const auto found = std::ranges::find(fields_, label_column);
    if (found == fields_.end()) refuse_label_column(label_column);
    names_ = fields_;
    label_ = static_cast<std::size_t>(found - fields_.begin());
    cells_.set_columns(path_, names_, label_);
  }

  void check_names() const {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].empty()) {
        records_.refuse(
            "column {} has no name; name it, or leave it out if it only counts the rows (pandas "
            "writes such a column without index=False)",
            i + 1);
      }
    }
    std::vector<std::string> sorted = fields_;
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice == sorted.end()) return;
    records_.refuse("two columns are called {}; column names in the first line must differ",
                    in_quotes(*twice));
  }

  [[noreturn]] void refuse_label_column(std::string_view name) const {
    const std::size_t shown = std::min(fields_.size(), MostNamesShown);
    records_.refuse(
        "there is no column {}{}; the columns are {}{}: give the one with the classes as "
        "label-column",
        in_quotes(name), did_you_mean(name, fields_),
        fmt::join(fields_.begin(), fields_.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
        shown < fields_.size() ? fmt::format(" and {} more", fields_.size() - shown) : "");
  }

  /// Reads the next row that is not empty.
  bool next_row() {
    do {
      if (!next_record(records_, fields_)) return false;
    } while (fields_.size() == 1 && trimmed(fields_.front()).empty());
    if (fields_.size() != names_.size()) {
      records_.refuse("has {} fields, the header has {}; each row must have one field per column",
                      fields_.size(), names_.size());
    }
    ++row_count_;
    return true;
  }

  void add_row() {
    auto column = cells_.columns.begin();
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const std::string_view value = trimmed(fields_[i]);
      if (is_missing(value)) {
        missing_.add(
            row_count_,
            fmt::format("line {}, column {}", records_.line_number(), in_quotes(names_[i])), value);
      }
      // A table with missing values is refused at the end; until then, rows are only counted.
      if (missing_.any()) continue;
      if (i == label_) {
        cells_.add_label(path_, value);
      } else {
        add_value(*column++, value);
      }
    }
  }

  void add_value(TableColumn& column, std::string_view value) const {
    const std::optional<double> number = number_in(value);
    if (number && std::isinf(*number) && column.is_numeric()) {
      records_.refuse("column {} is {}; numbers must be finite", in_quotes(column.name()),
                      in_quotes(value));
    }
    if (column.add(value, number)) return;
    records_.refuse(
        "column {} is {}, so its values are categories, of which there are more than {}; leave the "
        "column out if it only names the rows, merge rare values, or correct what should be a "
        "number",
        in_quotes(column.name()), in_quotes(value), TableColumn::MostCategories);
  }

  fs::path path_;
  TableCells& cells_;
  TextTable records_;
  std::vector<std::string> fields_;
  std::vector<std::string> names_;
  std::size_t label_ = 0;
  std::int64_t row_count_ = 0;
  MissingValues missing_;
};

}  // namespace

void read_csv_table(const fs::path& path, std::string_view label_column, TableCells& cells) {
  const CsvTable table(path, label_column, cells);
}

}  // namespace rcap
