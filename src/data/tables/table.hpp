#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "data/dataset.hpp"

namespace rcap {

struct TableOptions {
  /// For a CSV file, the name of the column with the classes, empty: "label"; for a .npy file, its
  /// number, from 0, empty: the last one.
  std::string label_column{};
  std::uint64_t seed = 0;  ///< for the test rows of a single file
};

/// A table of numbers and categories: a CSV file, a .npy file, or a folder with both splits.
///
/// CSV (RFC 4180): a header line, fields separated by commas, in double quotes if they contain one;
/// blanks around a field are ignored, empty lines are skipped. A .npy file holds a two-dimensional
/// array of float32, float64 or integers. Its first bytes decide which of the two it is. In a
/// folder, train.csv and test.csv (or train.npy and test.npy) are the splits. From a single file,
/// one row in five of each class (rounded down, at least one of a class that has two), drawn by the
/// seed, is held out as the test split.
///
/// The input of a network, column after column in the order of the file:
///
///  - for a column of numbers, (x - mean) / deviation, with mean and population deviation of the
///    training rows; a column that is constant there becomes 0, with a remark;
///  - for a column with any other value, one number for each value in the training rows, in byte
///    order: 1 for the row's own value and 0 for the others. A value that occurs only in test rows
///    is 0 throughout, with a remark.
///
/// Classes are named after the values of the label column, sorted as numbers if all are whole
/// numbers, otherwise in byte order.
///
/// @throws BadFile  names file, line, column, value and remedy: a missing value (an empty field,
///                  NA, NaN, ?), an infinite number, a row of the wrong length, a column without a
///                  name or with the name of another, no label column, no rows, more than 1,000
///                  categories, fewer than 2 classes, a class that occurs only in the test split
[[nodiscard]] Dataset open_table(const std::filesystem::path& path, const TableOptions& options);

}  // namespace rcap
