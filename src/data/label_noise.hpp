#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.hpp"

namespace rcap {

/// Changes the fraction `part` of a split's labels, exactly round(part * n) of them, each to
/// another class, all others equally likely. Which ones change, and to what, depends only on the
/// seed.
///
/// If samples have groups, a changed sample moves to the group of its new class with its own
/// attribute: groups are numbered class by class, with the same attributes in each.
///
/// @param group_count  a multiple of `class_count`; ignored if there are no groups
/// @param part         0 <= part < 1
/// @return the positions of the changed samples, ascending
/// @throws InvalidArgument  a fraction out of range, or one above 0 with fewer than two classes
std::vector<SampleId> change_labels(Split& split, ClassId class_count, ClassId group_count,
                                    double part, std::uint64_t seed);

}  // namespace rcap
