#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace rcap {

/// Rows of numbers in memory, as networks read them: what tables have instead of images.
/// A row has the shape 1 x 1 with one channel per column.
class TableRows final : public ImageSource {
 public:
  /// @param name     stands for the rows in messages
  /// @param columns  at least 1
  /// @param numbers  row after row
  /// @throws InvalidArgument  numbers that do not make whole rows
  TableRows(std::string name, std::int64_t columns, std::vector<float> numbers);

  [[nodiscard]] std::int64_t size() const noexcept override { return size_; }
  /// @throws InvalidArgument  always: a row has no pixels
  [[nodiscard]] ImageView read(SampleId id, Image& buffer) const override;
  [[nodiscard]] std::string name_of(SampleId id) const override;
  [[nodiscard]] std::optional<ImageShape> fixed_shape() const noexcept override {
    return ImageShape{1, 1, static_cast<int>(columns_)};
  }
  [[nodiscard]] bool in_memory() const noexcept override { return true; }
  [[nodiscard]] bool holds_rows() const noexcept override { return true; }
  [[nodiscard]] const float* row(SampleId id) const noexcept override {
    return numbers_.data() + static_cast<std::size_t>(id * columns_);
  }

 private:
  std::string name_;
  std::int64_t columns_;
  std::vector<float> numbers_;
  std::int64_t size_;
};

}  // namespace rcap
