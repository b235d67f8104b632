#include "rcap/core/class_index.hpp"

#include <algorithm>
#include <limits>

#include "base/formatted.hpp"
#include "core/hash64.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

template <class Label>
[[noreturn]] void refuse_label(std::size_t sample, Label label, std::int64_t limit) {
  throw InvalidArgument(
      formatted("ClassIndex: the label of sample {} is {}; labels must lie between 0 and {}",
                sample, +label, limit - 1));
}

template <class Label>
ClassId find_class_count(std::span<const Label> labels, std::optional<ClassId> given) {
  if (labels.empty()) {
    throw InvalidArgument("ClassIndex: the data set is empty; it needs at least one sample");
  }
  if (std::cmp_greater(labels.size(), ClassIndex::MaxSamples)) {
    throw InvalidArgument(formatted("ClassIndex: the data set has {} samples; {} are the most",
                                    labels.size(), +ClassIndex::MaxSamples));
  }
  if (given && (*given < 1 || *given > ClassIndex::MaxClasses)) {
    throw InvalidArgument(formatted("ClassIndex: class_count is {}; it must lie between 1 and {}",
                                    *given, +ClassIndex::MaxClasses));
  }
  const std::int64_t limit = given.value_or(ClassIndex::MaxClasses);
  Label largest = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (std::cmp_less(labels[i], 0) || std::cmp_greater_equal(labels[i], limit)) {
      refuse_label(i, labels[i], limit);
    }
    largest = std::max(largest, labels[i]);
  }
  return given.value_or(static_cast<ClassId>(largest) + 1);
}

/// Hashes labels as 32-bit numbers, so that the stored width does not matter.
class LabelHasher {
 public:
  explicit LabelHasher(ClassId class_count) { hash_.add(&class_count, sizeof class_count); }
  template <class Label>
  void add(std::span<const Label> labels) {
    constexpr std::size_t BlockLabels = 1024;
    std::uint32_t block[BlockLabels];
    while (!labels.empty()) {
      const std::size_t size = std::min(BlockLabels, labels.size());
      std::ranges::transform(labels.first(size), block,
                             [](Label label) { return static_cast<std::uint32_t>(label); });
      hash_.add(block, size * sizeof *block);
      labels = labels.subspan(size);
    }
  }
  [[nodiscard]] std::uint64_t digest() const { return hash_.value(); }

 private:
  Hash64 hash_;
};

template <class Stored, class Label>
std::vector<Stored> narrow(std::span<const Label> labels) {
  std::vector<Stored> stored(labels.size());
  std::ranges::transform(labels, stored.begin(),
                         [](Label label) { return static_cast<Stored>(label); });
  return stored;
}

}  // namespace

template <std::integral Label>
ClassIndex::ClassIndex(std::span<const Label> labels, std::optional<ClassId> class_count)
    : sample_count_(static_cast<std::int64_t>(labels.size())),
      class_sizes_(static_cast<std::size_t>(find_class_count(labels, class_count))) {
  for (const Label label : labels) ++class_sizes_[static_cast<std::size_t>(label)];
  const std::size_t classes = class_sizes_.size();
  if (classes <= std::size_t{1} << 8) {
    labels_ = narrow<std::uint8_t>(labels);
  } else if (classes <= std::size_t{1} << 16) {
    labels_ = narrow<std::uint16_t>(labels);
  } else {
    labels_ = narrow<std::uint32_t>(labels);
  }
  LabelHasher hasher(this->class_count());
  visit([&hasher](auto stored) { hasher.add(stored); });
  fingerprint_ = hasher.digest();
}

std::vector<std::int64_t> ClassIndex::count_by_class(std::span<const SampleId> ids) const {
  std::vector<std::int64_t> counts(class_sizes_.size());
  visit([&](auto labels) {
    for (const SampleId id : ids) ++counts[labels[static_cast<std::size_t>(id)]];
  });
  return counts;
}

template ClassIndex::ClassIndex(std::span<const signed char>, std::optional<ClassId>);
template ClassIndex::ClassIndex(std::span<const unsigned char>, std::optional<ClassId>);
template ClassIndex::ClassIndex(std::span<const short>, std::optional<ClassId>);
template ClassIndex::ClassIndex(std::span<const unsigned short>, std::optional<ClassId>);
template ClassIndex::ClassIndex(std::span<const int>, std::optional<ClassId>);
template ClassIndex::ClassIndex(std::span<const unsigned>, std::optional<ClassId>);
template ClassIndex::ClassIndex(std::span<const long>, std::optional<ClassId>);
template ClassIndex::ClassIndex(std::span<const unsigned long>, std::optional<ClassId>);
template ClassIndex::ClassIndex(std::span<const long long>, std::optional<ClassId>);
template ClassIndex::ClassIndex(std::span<const unsigned long long>, std::optional<ClassId>);

}  // namespace rcap
