#include "data/tables/encode_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "base/quoting.hpp"
#include "data/text_table.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

constexpr std::int64_t MostBytes = std::int64_t{32} << 30;
constexpr std::size_t MostColumnsNamed = 5;

/// "a, b, c and 4 more".
std::string list_names(std::span<const std::string> names) {
  const std::size_t named = std::min(names.size(), MostColumnsNamed);
  return fmt::format("{}{}", fmt::join(names.first(named), ", "),
                     named < names.size() ? fmt::format(" and {} more", names.size() - named) : "");
}

template <class T>
const T& at(std::span<const T> values, SampleId row) {
  return values[static_cast<std::size_t>(row)];
}

}  // namespace

TableEncoder::TableEncoder(const TableCells& cells, std::span<const SampleId> training_rows,
                           const std::string& name) {
  for (const TableColumn& column : cells.columns) {
    Plan& plan = plans_.emplace_back();
    plan.column = &column;
    plan.first = width_;
    if (column.is_numeric()) {
      plan_numbers(plan, training_rows, name);
    } else {
      plan_categories(plan, training_rows);
    }
  }
}

void TableEncoder::plan_numbers(Plan& plan, std::span<const SampleId> training_rows,
                                const std::string& name) {
  width_ += 1;
  const std::span<const double> numbers = plan.column->numbers();
  const auto count = static_cast<double>(training_rows.size());
  double sum = 0;
  for (const SampleId row : training_rows) sum += at(numbers, row);
  plan.mean = sum / count;
  double squares = 0;
  bool is_constant = true;
  for (const SampleId row : training_rows) {
    const double difference = at(numbers, row) - plan.mean;
    squares += difference * difference;
    // The mean of equal numbers may be off by rounding, so the sum of squares is no test.
    is_constant = is_constant && at(numbers, row) == at(numbers, training_rows.front());
  }
  if (is_constant) return;
  plan.deviation = std::sqrt(squares / count);
  if (std::isnormal(plan.deviation)) return;
  refuse_file(name,
              "the numbers in column {} are too large or too small to be standardised (deviation "
              "{}); use another unit",
              in_quotes(plan.column->name()), plan.deviation);
}

void TableEncoder::plan_categories(Plan& plan, std::span<const SampleId> training_rows) {
  const std::span<const std::string> categories = plan.column->categories();
  plan.places.assign(categories.size(), -1);
  std::vector<bool> seen(categories.size());
  for (const SampleId row : training_rows) seen[at(plan.column->codes(), row)] = true;
  std::vector<std::size_t> codes;
  for (std::size_t code = 0; code < categories.size(); ++code) {
    if (seen[code]) codes.push_back(code);
  }
  std::ranges::sort(codes, {}, [&](std::size_t code) { return categories[code]; });
  for (const std::size_t code : codes) plan.places[code] = width_++;
}

std::shared_ptr<const TableRows> TableEncoder::encode(const std::string& name,
                                                      std::span<const SampleId> rows) const {
  const std::int64_t count = std::ssize(rows);
  const std::int64_t most_rows = MostBytes / static_cast<std::int64_t>(sizeof(float)) / width_;
  if (count > most_rows) {
    refuse_file(
        name,
        "{} rows of {} numbers do not fit into 32 GiB; leave out columns with many categories",
        count, width_);
  }
  std::vector<float> numbers(static_cast<std::size_t>(count * width_));
  for (const Plan& plan : plans_) encode_column(plan, rows, numbers);
  return std::make_shared<TableRows>(name, width_, std::move(numbers));
}

void TableEncoder::encode_column(const Plan& plan, std::span<const SampleId> rows,
                                 std::span<float> numbers) const {
  const TableColumn& column = *plan.column;
  if (column.is_numeric() && plan.deviation == 0) return;
  std::int64_t begin = 0;
  for (const SampleId row : rows) {
    if (column.is_numeric()) {
      const double number = (at(column.numbers(), row) - plan.mean) / plan.deviation;
      numbers[static_cast<std::size_t>(begin + plan.first)] = static_cast<float>(number);
    } else if (const std::int64_t place = plan.places[at(column.codes(), row)]; place >= 0) {
      numbers[static_cast<std::size_t>(begin + place)] = 1;
    }
    begin += width_;
  }
}

void TableEncoder::remark_constant_columns(std::vector<std::string>& remarks) const {
  std::vector<std::string> names;
  for (const Plan& plan : plans_) {
    if (plan.column->is_numeric() && plan.deviation == 0) names.push_back(plan.column->name());
  }
  if (names.empty()) return;
  remarks.push_back(
      fmt::format("{} of {} columns are constant in the training rows and become 0: {}",
                  names.size(), plans_.size(), list_names(names)));
}

void TableEncoder::remark_unseen_values(std::span<const SampleId> rows,
                                        std::vector<std::string>& remarks) const {
  std::vector<std::string> names;
  std::int64_t count = 0;
  for (const Plan& plan : plans_) {
    if (plan.column->is_numeric()) continue;
    const auto unseen = std::ranges::count_if(
        rows, [&](SampleId row) { return plan.places[at(plan.column->codes(), row)] < 0; });
    if (unseen > 0) names.push_back(plan.column->name());
    count += unseen;
  }
  if (count == 0) return;
  remarks.push_back(
      fmt::format("{} values of test rows do not occur in the training rows and are encoded as no "
                  "category; columns: {}",
                  count, list_names(names)));
}

}  // namespace rcap
