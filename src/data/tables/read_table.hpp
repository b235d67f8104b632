#pragma once

#include <filesystem>
#include <string_view>

#include "data/tables/table_cells.hpp"

namespace rcap {

/// Appends the rows of a CSV file to `cells`, which is empty or has the same columns.
/// @param label_column  the name of the column with the classes; empty: "label"
/// @throws BadFile  like `open_table`
void read_csv_table(const std::filesystem::path& path, std::string_view label_column,
                    TableCells& cells);

/// The same for a .npy file.
/// @param label_column  its number, from 0; empty: the last one
void read_npy_table(const std::filesystem::path& path, std::string_view label_column,
                    TableCells& cells);

}  // namespace rcap
