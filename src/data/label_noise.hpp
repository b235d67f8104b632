#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.hpp"

namespace rcap {

/// Changes the part `part` of a split's labels, exactly round(part * n) of them, each to another
/// class, all others equally likely. Which and to what is decided by the seed alone.
///
/// Where samples have groups, a changed sample goes to the group of its new class with its own
/// attribute: groups are numbered class by class, with the same attributes in each.
///
/// @param group_count  a multiple of `class_count`; ignored where there are no groups
/// @param part         0 <= part < 1
/// @return the positions of the changed samples, ascending
/// @throws InvalidArgument  a part out of range; one above 0 with less than two classes
std::vector<SampleId> change_labels(Split& split, ClassId class_count, ClassId group_count,
                                    double part, std::uint64_t seed);

}  // namespace rcap
