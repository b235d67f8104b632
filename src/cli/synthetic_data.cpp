#include "cli/synthetic_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "rcap/core/class_budget.hpp"
#include "rcap/core/error.hpp"

namespace rcap::cli {
namespace {

constexpr double Imbalance = 100.0;
constexpr float LargestLoss = 10.0f;

/// What a random number of the generator is for: separate streams from the losses, which use the
/// epochs from -1 on.
enum StreamEpoch : std::int64_t { LabelShuffle = -2, ClassMeans = -3 };

/// How far ahead of a swap its random target is fetched; at 10^9 labels a swap would
/// otherwise wait for main memory.
constexpr std::size_t PrefetchDistance = 32;

/// The Fisher-Yates shuffle.
template <class Label>
void shuffle(std::vector<Label>& labels, const RandomStream& stream) {
  const auto target = [&](std::size_t i) { return stream.below(i + 1, static_cast<SampleId>(i)); };
  for (std::size_t i = labels.size(); i-- > 1;) {
    if (i > PrefetchDistance) {
      __builtin_prefetch(&labels[target(i - PrefetchDistance)], 1);
    }
    std::swap(labels[i], labels[target(i)]);
  }
}

template <class Label>
std::shared_ptr<const ClassIndex> make_classes_as(std::span<const std::int64_t> class_sizes,
                                                  LabelOrder order, std::uint64_t seed) {
  std::vector<Label> labels;
  labels.reserve(static_cast<std::size_t>(
      std::accumulate(class_sizes.begin(), class_sizes.end(), std::int64_t{0})));
  for (std::size_t j = 0; j < class_sizes.size(); ++j) {
    labels.insert(labels.end(), static_cast<std::size_t>(class_sizes[j]), static_cast<Label>(j));
  }
  if (order == LabelOrder::Shuffled) {
    shuffle(labels, RandomStream(seed, Purpose::Synthetic, LabelShuffle));
  }
  return std::make_shared<const ClassIndex>(std::span<const Label>(labels),
                                            static_cast<ClassId>(class_sizes.size()));
}

}  // namespace

std::vector<std::int64_t> make_class_sizes(std::int64_t sample_count, ClassId class_count,
                                           ClassProfile profile) {
  if (class_count < 1 || sample_count < class_count) {
    throw InvalidArgument(
        fmt::format("--n {} with --classes {}; at least one class and one "
                    "sample of each are needed",
                    sample_count, class_count));
  }
  const auto count = static_cast<std::size_t>(class_count);
  std::vector<double> shares(count, 1.0);
  if (profile == ClassProfile::LongTailed && class_count > 1) {
    for (std::size_t j = 0; j < count; ++j) {
      shares[j] = std::pow(Imbalance, -static_cast<double>(j) / static_cast<double>(count - 1));
    }
  }
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share *= static_cast<double>(sample_count) / total;
  const std::vector<std::int64_t> no_limit(count, sample_count);
  return round_shares(no_limit, shares, sample_count, 1);
}

std::shared_ptr<const ClassIndex> make_classes(std::span<const std::int64_t> class_sizes,
                                               LabelOrder order, std::uint64_t seed) {
  return class_sizes.size() <= std::numeric_limits<std::uint16_t>::max() + std::size_t{1}
             ? make_classes_as<std::uint16_t>(class_sizes, order, seed)
             : make_classes_as<std::uint32_t>(class_sizes, order, seed);
}

SyntheticLosses::SyntheticLosses(std::shared_ptr<const ClassIndex> classes, std::uint64_t seed)
    : classes_(std::move(classes)), seed_(seed) {
  const RandomStream stream(seed, Purpose::Synthetic, ClassMeans);
  for (ClassId j = 0; j < classes_->class_count(); ++j) {
    class_means_.push_back(0.1 + 1.9 * stream.uniform(j));
  }
}

void SyntheticLosses::fill(std::span<const SampleId> ids, std::int64_t epoch,
                           std::vector<float>& losses) const {
  const RandomStream stream(seed_, Purpose::Synthetic, epoch);
  losses.resize(ids.size());
  classes_->visit([&](auto labels) {
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const double mean = class_means_[labels[static_cast<std::size_t>(ids[k])]];
      const double loss = -mean * std::log(stream.uniform(ids[k]));
      losses[k] = std::min(static_cast<float>(loss), LargestLoss);
    }
  });
}

}  // namespace rcap::cli
