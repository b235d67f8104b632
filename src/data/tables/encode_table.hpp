#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/tables/table_cells.hpp"
#include "data/tables/table_rows.hpp"

namespace rcap {

/// Makes the cells of a table numbers, as `open_table` tells it.
class TableEncoder {
 public:
  /// Learns means, deviations and categories. O(rows * columns).
  /// @param cells  must live as long as the encoder
  /// @param name   what messages call the table
  /// @throws BadFile  numbers so large that they have no finite deviation
  TableEncoder(const TableCells& cells, std::span<const SampleId> training_rows,
               const std::string& name);

  /// How many numbers a row becomes.
  [[nodiscard]] std::int64_t width() const noexcept { return width_; }

  /// @param name  what messages call the rows
  /// @throws BadFile  the numbers would take more than 32 GiB
  [[nodiscard]] std::shared_ptr<const TableRows> encode(const std::string& name,
                                                        std::span<const SampleId> rows) const;

  /// Says which columns are constant in the training rows.
  void remark_constant_columns(std::vector<std::string>& remarks) const;
  /// Says in which columns rows have values that no training row has, and how many.
  void remark_unseen_values(std::span<const SampleId> rows,
                            std::vector<std::string>& remarks) const;

 private:
  /// How one column becomes numbers.
  struct Plan {
    const TableColumn* column = nullptr;
    std::int64_t first = 0;  ///< of its numbers in a row
    double mean = 0;
    double deviation = 0;              ///< 0 where the column is constant
    std::vector<std::int64_t> places;  ///< by code, in a row; -1 where training rows lack it
  };

  void plan_numbers(Plan& plan, std::span<const SampleId> training_rows, const std::string& name);
  void plan_categories(Plan& plan, std::span<const SampleId> training_rows);
  void encode_column(const Plan& plan, std::span<const SampleId> rows,
                     std::span<float> numbers) const;

  std::vector<Plan> plans_;
  std::int64_t width_ = 0;
};

}  // namespace rcap
