#include "data/label_noise.hpp"

#include <cmath>

#include <fmt/format.h>

#include "data/subsample.hpp"
#include "rcap/core/error.hpp"
#include "rcap/core/random_stream.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {
namespace {

void check_part(double part, ClassId class_count) {
  if (!(part >= 0 && part < 1)) {
    throw InvalidArgument(fmt::format(
        "label noise is {}; it is a fraction of the labels, at least 0 and below 1", part));
  }
  if (part > 0 && class_count < 2) {
    throw InvalidArgument(
        fmt::format("label noise is {} with {} class; there is no other class to change a label to",
                    part, class_count));
  }
}

}  // namespace

std::vector<SampleId> change_labels(Split& split, ClassId class_count, ClassId group_count,
                                    double part, std::uint64_t seed) {
  check_part(part, class_count);
  const auto count = std::llround(part * static_cast<double>(split.size()));
  const auto changed =
      draw_uniform(split.size(), count, subsample_stream(seed, SubsampleUse::LabelNoise)).ids();
  // A separate stream: the draw took the samples whose numbers are at one end.
  const RandomStream classes = subsample_stream(seed, SubsampleUse::NoisyLabel);
  const ClassId attributes = group_count / class_count;
  for (const SampleId id : changed) {
    ClassId& label = split.labels[static_cast<std::size_t>(id)];
    const auto other =
        static_cast<ClassId>(classes.below(static_cast<std::uint64_t>(class_count - 1), id));
    label = other < label ? other : other + 1;
    if (split.groups.empty()) continue;
    std::int32_t& group = split.groups[static_cast<std::size_t>(id)];
    group = label * attributes + group % attributes;
  }
  return changed;
}

}  // namespace rcap
