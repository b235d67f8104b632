#pragma once

#include <filesystem>

#include "data/dataset.hpp"

namespace rcap {

enum class CifarKind { Cifar10, Cifar100 };

/// Reads the binary version of CIFAR-10 or CIFAR-100 into memory, converting planes to pixels.
/// The class of CIFAR-100 is the fine label.
///
/// The files are in `folder` itself or in the folder below it that the archive unpacks to
/// (cifar-10-batches-bin, cifar-100-binary). Names of classes come from batches.meta.txt or
/// fine_label_names.txt; without that file CIFAR-10 has its well known names and CIFAR-100 "class
/// 0", "class 1", ... A file of whole records that is shorter or longer than the official one is
/// accepted, with a remark. The normalisation is left empty.
///
/// @throws BadFile  a missing file, the Python version instead of the binary one, a length that is
///                  not a multiple of the record's, a label out of range; names the file, what was
///                  found and what was expected
[[nodiscard]] Dataset read_cifar(const std::filesystem::path& folder, CifarKind kind);

}  // namespace rcap
