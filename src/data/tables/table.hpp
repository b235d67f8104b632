#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "data/dataset.hpp"

namespace rcap {

struct TableOptions {
  /// Of a CSV file the name of the column with the classes, of a .npy file its number from 0
  /// up; empty: "label", and the last one.
  std::string label_column{};
  std::uint64_t seed = 0;  ///< of the test rows of a single file
};

/// A table of numbers and categories: a CSV file, a .npy file, or a folder with both splits.
///
/// CSV (RFC 4180): a header line, fields between commas, in double quotes where they hold one;
/// blanks around a field do not count, empty lines are passed over. A .npy file holds an array
/// of two dimensions, of float32, float64 or integers. Which of the two it is, its first bytes
/// tell. In a folder train.csv and test.csv (or train.npy and test.npy) are the splits; of a
/// single file one row in five of each class (rounded down, at least one of a class that has
/// two) is held out as the test split, by the seed.
///
/// What a network reads, column after column in the order of the file:
///
///  - of a column of numbers (x - mean) / deviation, with mean and population deviation of the
///    training rows; a column that is constant there becomes 0, with a remark;
///  - of a column with any other value in it, one number for each value that the training rows
///    have, in byte order: 1 where it is the row's, else 0. A value that only test rows have
///    is 0 in all of them, with a remark.
///
/// Classes are named by the values of the label column, sorted as numbers where all are whole
/// numbers, else in byte order.
///
/// @throws BadFile  names file, line, column, value and remedy: a missing value (an empty
///                  field, NA, NaN, ?), an infinite number, a row of another length, a column
///                  without a name or with that of another, no label column, no rows, more
///                  than 1,000 categories, fewer than 2 classes, a class that only the test
///                  split has
[[nodiscard]] Dataset open_table(const std::filesystem::path& path, const TableOptions& options);

}  // namespace rcap
