#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/quoting.hpp"
#include "data/sets/imagenet.hpp"
#include "data/sets/mat_file.hpp"
#include "data/text_table.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t ClassCount = 1000;
constexpr std::string_view TableName = "synsets";
constexpr std::string_view IdField = "ILSVRC2012_ID";
constexpr std::string_view WnidField = "WNID";

std::size_t find_field(const MatFile& file, const MatStruct& table, std::string_view name) {
  const auto place = std::find(table.fields.begin(), table.fields.end(), name);
  if (place == table.fields.end()) {
    file.refuse(table.offset, "the table {} has no field {}", TableName, name);
  }
  return static_cast<std::size_t>(place - table.fields.begin());
}

/// Stores the wnid of one row at its place.
void take_row(const MatFile& file, const MatMatrix& id_cell, const MatMatrix& wnid_cell,
              std::vector<std::string>& wnids) {
  const double id = file.number(id_cell);
  if (!(id >= 1) || id > static_cast<double>(wnids.size()) || id != std::floor(id)) {
    file.refuse(id_cell.offset, "{} is {}; it must be a whole number between 1 and {}", IdField, id,
                wnids.size());
  }
  std::string wnid = file.text(wnid_cell);
  if (!is_wnid(wnid)) {
    file.refuse(wnid_cell.offset, "{} is {}; it must be n and eight digits", WnidField,
                in_quotes(wnid));
  }
  std::string& place = wnids[static_cast<std::size_t>(id) - 1];
  if (!place.empty()) file.refuse(id_cell.offset, "{} {} appears twice", IdField, id);
  place = std::move(wnid);
}

}  // namespace

bool is_wnid(std::string_view name) noexcept {
  return name.size() == 9 && name.front() == 'n' &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::int32_t> read_imagenet_ground_truth(const fs::path& path) {
  TextTable text(path);
  std::vector<std::int32_t> ids;
  for (std::string_view line; text.next(line);) {
    ids.push_back(
        static_cast<std::int32_t>(parse_number(text, "the ILSVRC id", line, 1, ClassCount)));
  }
  return ids;
}

std::vector<std::string> read_imagenet_synsets(const fs::path& path) {
  const MatFile file(path);
  const MatStruct table = file.find_struct(TableName);
  const std::size_t id_field = find_field(file, table, IdField);
  const std::size_t wnid_field = find_field(file, table, WnidField);
  const std::size_t row_count = table.cells.size() / table.fields.size();
  std::vector<std::string> wnids(row_count);
  for (std::size_t row = 0; row < row_count; ++row) {
    const std::size_t first = row * table.fields.size();
    take_row(file, table.cells[first + id_field], table.cells[first + wnid_field], wnids);
  }
  std::vector<std::string> sorted = wnids;
  std::sort(sorted.begin(), sorted.end());
  const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
  if (repeated != sorted.end()) {
    file.refuse(table.offset, "{} {} appears twice", WnidField, *repeated);
  }
  return wnids;
}

}  // namespace rcap
