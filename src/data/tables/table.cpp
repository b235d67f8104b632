#include "data/tables/table.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/quoting.hpp"
#include "data/subsample.hpp"
#include "data/tables/encode_table.hpp"
#include "data/tables/read_table.hpp"
#include "data/tables/table_cells.hpp"
#include "data/text_table.hpp"
#include "io/npy.hpp"
#include "io/payload_reader.hpp"
#include "io/refuse_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t TestRowsOneIn = 5;
constexpr std::size_t MostClassesNamed = 5;

/// The files of a table.
struct TableFiles {
  fs::path train;
  fs::path test;  ///< empty: held out from `train`
};

TableFiles find_files(const fs::path& path) {
  if (!is_folder(path)) return {path, {}};
  const bool has_csv = is_there(path / "train.csv");
  const bool has_npy = is_there(path / "train.npy");
  if (has_csv == has_npy) {
    refuse_file(path,
                "has {} train.csv {} train.npy; a folder must have one of them, with a test file "
                "beside it; for a single file, give the file itself",
                has_csv ? "both" : "neither", has_csv ? "and" : "nor");
  }
  const std::string ending = has_csv ? ".csv" : ".npy";
  TableFiles files{path / ("train" + ending), path / ("test" + ending)};
  if (is_there(files.test)) return files;
  refuse_file(files.test,
              "there is no such file; put the rows for evaluation there, or give {} itself to hold "
              "out one row in five",
              files.train.string());
}

void read_file(const fs::path& path, const TableOptions& options, TableCells& cells) {
  const auto read = is_npy(path) ? read_npy_table : read_csv_table;
  read(path, options.label_column, cells);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, number);
  if (error != std::errc{} || end != text_end) return std::nullopt;
  return number;
}

/// Codes of label values in the order of the classes.
std::vector<std::size_t> sort_classes(std::span<const std::string> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t code) { return values[code]; });
  const auto is_whole = [](const std::string& value) { return whole_number(value).has_value(); };
  if (std::ranges::all_of(values, is_whole)) {
    std::ranges::stable_sort(order, {},
                             [&](std::size_t code) { return *whole_number(values[code]); });
  }
  return order;
}

/// Names the classes, and returns the class of every row.
std::vector<ClassId> number_classes(const TableCells& cells, Dataset& dataset) {
  const std::span<const std::string> values = cells.label_values.values();
  std::vector<ClassId> class_of(values.size());
  for (const std::size_t code : sort_classes(values)) {
    class_of[code] = dataset.class_count();
    dataset.class_names.push_back(values[code]);
  }
  std::vector<ClassId> classes;
  classes.reserve(cells.labels.size());
  for (const std::uint32_t code : cells.labels) classes.push_back(class_of[code]);
  return classes;
}

/// Which rows are for training and which for testing.
struct RowSplit {
  std::vector<SampleId> train;
  std::vector<SampleId> test;
};

RowSplit split_at(std::int64_t train_count, std::int64_t row_count) {
  RowSplit split;
  split.train.resize(static_cast<std::size_t>(train_count));
  split.test.resize(static_cast<std::size_t>(row_count - train_count));
  std::iota(split.train.begin(), split.train.end(), 0);
  std::iota(split.test.begin(), split.test.end(), train_count);
  return split;
}

RowSplit hold_out_rows(const fs::path& path, std::span<const ClassId> labels, ClassId class_count,
                       std::uint64_t seed) {
  HeldOutSplit split =
      hold_out(ClassIndex(labels, class_count), TestRowsOneIn, seed, SubsampleUse::TableTest);
  if (split.held_out.empty()) {
    refuse_file(path, "no class has two rows, so none can be held out for testing");
  }
  return {std::move(split.kept), std::move(split.held_out)};
}

/// How many of the rows each class has.
std::vector<std::int64_t> count_classes(std::span<const ClassId> labels,
                                        std::span<const SampleId> rows, ClassId class_count) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(class_count));
  for (const SampleId row : rows) {
    ++counts[static_cast<std::size_t>(labels[static_cast<std::size_t>(row)])];
  }
  return counts;
}

/// Every class must be trained; if some cannot be tested, a remark says so.
void check_classes(const TableFiles& files, std::span<const ClassId> labels, const RowSplit& split,
                   Dataset& dataset) {
  const auto train_counts = count_classes(labels, split.train, dataset.class_count());
  const auto test_counts = count_classes(labels, split.test, dataset.class_count());
  std::vector<std::string> untested;
  for (std::size_t j = 0; j < train_counts.size(); ++j) {
    if (train_counts[j] == 0) {
      refuse_file(files.test,
                  "class {} ({} rows) does not occur in {}; every class needs rows to train on",
                  in_quotes(dataset.class_names[j]), test_counts[j], files.train.string());
    }
    if (test_counts[j] == 0) untested.push_back(dataset.class_names[j]);
  }
  if (untested.empty()) return;
  dataset.remarks.push_back(fmt::format("{} of {} classes have no test row: {}", untested.size(),
                                        dataset.class_count(),
                                        first_few(untested, MostClassesNamed)));
}

Split make_split(const TableEncoder& encoder, const fs::path& path, std::span<const ClassId> labels,
                 std::span<const SampleId> rows) {
  Split split;
  split.images = encoder.encode(path.string(), rows);
  split.labels.reserve(rows.size());
  for (const SampleId row : rows) split.labels.push_back(labels[static_cast<std::size_t>(row)]);
  return split;
}

}  // namespace

Dataset open_table(const fs::path& path, const TableOptions& options) {
  const TableFiles files = find_files(path);
  TableCells cells;
  read_file(files.train, options, cells);
  const std::int64_t train_count = cells.row_count();
  if (!files.test.empty()) read_file(files.test, options, cells);

  Dataset dataset;
  dataset.name = "table";
  const std::vector<ClassId> labels = number_classes(cells, dataset);
  if (dataset.class_count() < 2) {
    refuse_file(path,
                "all rows are of class {}; there must be at least two classes; give the column "
                "with the classes as label-column",
                in_quotes(dataset.class_names.front()));
  }
  const RowSplit split = files.test.empty()
                             ? hold_out_rows(path, labels, dataset.class_count(), options.seed)
                             : split_at(train_count, cells.row_count());
  if (files.test.empty()) {
    dataset.remarks.push_back(fmt::format(
        "{} of {} rows, one in five of each class, are held out as the test split (seed {})",
        split.test.size(), cells.row_count(), options.seed));
  }
  check_classes(files, labels, split, dataset);
  const TableEncoder encoder(cells, split.train, files.train.string());
  encoder.remark_constant_columns(dataset.remarks);
  encoder.remark_unseen_values(split.test, dataset.remarks);
  dataset.channels = static_cast<int>(encoder.width());
  dataset.train = make_split(encoder, files.train, labels, split.train);
  dataset.test =
      make_split(encoder, files.test.empty() ? files.train : files.test, labels, split.test);
  return dataset;
}

}  // namespace rcap
