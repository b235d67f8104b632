#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/tables/table_cells.hpp"
#include "data/tables/table_rows.hpp"

namespace rcap {

/// Turns the cells of a table into numbers, as described at `open_table`.
class TableEncoder {
 public:
  /// Learns means, deviations and categories. O(rows * columns).
  /// @param cells  must live as long as the encoder
  /// @param name   stands for the table in messages
  /// @throws BadFile  numbers so large that they have no finite deviation
  TableEncoder(const TableCells& cells, std::span<const SampleId> training_rows,
               const std::string& name);

  /// How many numbers a row has.
  [[nodiscard]] std::int64_t width() const noexcept { return width_; }

  /// @param name  stands for the rows in messages
  /// @throws BadFile  the numbers would take more than 32 GiB
  [[nodiscard]] std::shared_ptr<const TableRows> encode(const std::string& name,
                                                        std::span<const SampleId> rows) const;

  /// Says which columns are constant in the training rows.
  void remark_constant_columns(std::vector<std::string>& remarks) const;
  /// Says which columns have values that do not occur in the training rows, and how many.
  void remark_unseen_values(std::span<const SampleId> rows,
                            std::vector<std::string>& remarks) const;

 private:
  /// How one column becomes numbers.
  struct Plan {
    const TableColumn* column = nullptr;
    std::int64_t first = 0;  ///< of its numbers in a row
    double mean = 0;
    double deviation = 0;              ///< 0 if the column is constant
    std::vector<std::int64_t> places;  ///< by code, in a row; -1 if training rows lack it
  };

  void plan_numbers(Plan& plan, std::span<const SampleId> training_rows, const std::string& name);
  void plan_categories(Plan& plan, std::span<const SampleId> training_rows);
  void encode_column(const Plan& plan, std::span<const SampleId> rows,
                     std::span<float> numbers) const;

  std::vector<Plan> plans_;
  std::int64_t width_ = 0;
};

}  // namespace rcap
