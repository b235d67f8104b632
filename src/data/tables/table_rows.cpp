#include "data/tables/table_rows.hpp"

#include <utility>

#include <fmt/format.h>

#include "rcap/core/error.hpp"

namespace rcap {

TableRows::TableRows(std::string name, std::int64_t columns, std::vector<float> numbers)
    : name_(std::move(name)), columns_(columns), numbers_(std::move(numbers)) {
  const std::int64_t count = std::ssize(numbers_);
  if (columns < 1 || count % columns != 0) {
    throw InvalidArgument(
        fmt::format("table_rows: {} numbers do not make whole rows of {} columns", count, columns));
  }
  size_ = count / columns;
}

ImageView TableRows::read(SampleId id, Image& buffer) const {
  (void)buffer;
  throw InvalidArgument(fmt::format("{} holds numbers, not an image", name_of(id)));
}

std::string TableRows::name_of(SampleId id) const { return fmt::format("{}, row {}", name_, id); }

}  // namespace rcap
