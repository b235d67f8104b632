#include "rcap/core/class_index.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/formatted.hpp"
#include "core/hash64.hpp"
#include "core/together.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

/// Checks the labels that are here.
/// @return the largest plus one
template <class Label>
ClassId check_labels(std::span<const Label> labels, SampleId first_id,
                     std::optional<ClassId> given) {
  if (std::cmp_greater(labels.size(), ClassIndex::MaxSamples)) {
    throw InvalidArgument(
        formatted("ClassIndex: the data set has {} samples; it may have at most {}{}",
                  labels.size(), +ClassIndex::MaxSamples, first_id > 0 ? " in one shard" : ""));
  }
  if (given && (*given < 1 || *given > ClassIndex::MaxClasses)) {
    throw InvalidArgument(formatted("ClassIndex: class_count is {}; it must lie between 1 and {}",
                                    *given, +ClassIndex::MaxClasses));
  }
  const std::int64_t limit = given.value_or(ClassIndex::MaxClasses);
  Label largest = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (std::cmp_less(labels[i], 0) || std::cmp_greater_equal(labels[i], limit)) {
      throw InvalidArgument(
          formatted("ClassIndex: the label of sample {} is {}; labels must lie between 0 and {}",
                    first_id + static_cast<SampleId>(i), +labels[i], limit - 1));
    }
    largest = std::max(largest, labels[i]);
  }
  return static_cast<ClassId>(largest) + 1;
}

template <class Label>
ClassId find_class_count(std::span<const Label> labels, const Shard& shard,
                         std::optional<ClassId> given) {
  if (shard.total() == 0) {
    throw InvalidArgument("ClassIndex: the data set is empty; it needs at least one sample");
  }
  ClassId here = 0;
  together(shard, [&] {
    if (std::cmp_not_equal(labels.size(), shard.sample_count())) {
      throw InvalidArgument(
          formatted("ClassIndex: {} labels for the {} samples of the shard from sample {} on; give "
                    "one per sample",
                    labels.size(), shard.sample_count(), shard.first_id()));
    }
    here = check_labels(labels, shard.first_id(), given);
  });
  require_same(shard, "ClassIndex: class_count", given.value_or(0));
  std::array<std::int64_t, 1> highest{here};
  shard.raise(highest);
  return given.value_or(static_cast<ClassId>(highest.front()));
}

/// Hashes labels as 32-bit numbers, so that the stored width does not matter. The hash goes from
/// rank to rank.
template <class Label>
std::uint64_t hash_labels(ClassId class_count, std::span<const Label> labels, const Shard& shard) {
  return in_turn(shard, Hash64(),
                 [&](Hash64& hash) {
                   if (shard.rank() == 0) hash.add(&class_count, sizeof class_count);
                   std::uint32_t block[1024];
                   while (!labels.empty()) {
                     const std::size_t size = std::min(std::size(block), labels.size());
                     std::copy_n(labels.begin(), size, block);
                     hash.add(block, size * sizeof *block);
                     labels = labels.subspan(size);
                   }
                 })
      .value();
}

template <class Length>
void check_given_lengths(const ClassIndex& classes, std::span<const Length> lengths) {
  if (!classes.shard().is_whole()) {
    throw InvalidArgument(
        "lengths: the samples are in shards, which have no budgets in tokens yet; give the labels "
        "of "
        "all samples to one process, or leave the lengths out");
  }
  if (std::cmp_not_equal(lengths.size(), classes.sample_count())) {
    throw InvalidArgument(formatted("lengths: {} for {} samples; give one per sample, in tokens",
                                    lengths.size(), classes.sample_count()));
  }
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (std::cmp_greater_equal(lengths[i], 1) &&
        std::cmp_less_equal(lengths[i], +ClassIndex::MaxLength)) {
      continue;
    }
    throw InvalidArgument(formatted(
        "lengths: that of sample {} is {}; lengths count tokens and must lie between 1 and {}", i,
        +lengths[i], +ClassIndex::MaxLength));
  }
  const auto sizes = classes.class_sizes();
  const auto empty = std::ranges::find(sizes, 0);
  if (empty == sizes.end()) return;
  throw InvalidArgument(
      formatted("lengths: class {} has no sample; with lengths every class needs at least one, so "
                "number the classes without gaps",
                empty - sizes.begin()));
}

}  // namespace

template <std::integral Label>
ClassIndex::ClassIndex(std::span<const Label> labels, std::optional<ClassId> class_count)
    : ClassIndex(labels, Shard(std::ssize(labels)), class_count) {}

template <std::integral Label>
ClassIndex::ClassIndex(std::span<const Label> labels, const Shard& shard,
                       std::optional<ClassId> class_count)
    : shard_(shard),
      class_sizes_(static_cast<std::size_t>(find_class_count(labels, shard, class_count))) {
  for (const Label label : labels) ++class_sizes_[static_cast<std::size_t>(label)];
  shard.add_up(class_sizes_);
  const std::size_t classes = class_sizes_.size();
  if (classes <= std::size_t{1} << 8) {
    labels_ = std::vector<std::uint8_t>(labels.begin(), labels.end());
  } else if (classes <= std::size_t{1} << 16) {
    labels_ = std::vector<std::uint16_t>(labels.begin(), labels.end());
  } else {
    labels_ = std::vector<std::uint32_t>(labels.begin(), labels.end());
  }
  fingerprint_ =
      visit([&](auto stored) { return hash_labels(this->class_count(), stored, shard); });
}

template <std::integral Length>
ClassIndex ClassIndex::with_lengths(std::span<const Length> lengths) && {
  check_given_lengths(*this, lengths);
  lengths_.assign(lengths.begin(), lengths.end());
  class_tokens_.assign(class_sizes_.size(), 0);
  visit([&](auto labels) {
    for (std::size_t i = 0; i < lengths_.size(); ++i) class_tokens_[labels[i]] += lengths_[i];
  });
  token_count_ = std::accumulate(class_tokens_.begin(), class_tokens_.end(), std::int64_t{0});
  length_fingerprint_ = hash_labels(0, this->lengths(), shard_);
  return std::move(*this);
}

ClassId ClassIndex::filled_class_count() const noexcept {
  return static_cast<ClassId>(
      std::ranges::count_if(class_sizes_, [](std::int64_t size) { return size > 0; }));
}

std::vector<std::int64_t> ClassIndex::count_by_class(std::span<const SampleId> ids) const {
  std::vector<std::int64_t> counts(class_sizes_.size());
  visit([&](auto labels) {
    for (const SampleId id : ids) ++counts[labels[static_cast<std::size_t>(id)]];
  });
  shard_.add_up(counts);
  return counts;
}

std::vector<std::int64_t> ClassIndex::tokens_by_class(std::span<const SampleId> ids) const {
  if (!has_lengths()) return count_by_class(ids);
  std::vector<std::int64_t> tokens(class_sizes_.size());
  visit([&](auto labels) {
    for (const SampleId id : ids) {
      tokens[labels[static_cast<std::size_t>(id)]] += lengths_[static_cast<std::size_t>(id)];
    }
  });
  return tokens;
}

#define RCAP_LABEL_TYPE(Label)                                                                   \
  template ClassIndex::ClassIndex(std::span<const Label>, std::optional<ClassId>);               \
  template ClassIndex::ClassIndex(std::span<const Label>, const Shard&, std::optional<ClassId>); \
  template ClassIndex ClassIndex::with_lengths(std::span<const Label>)&&
RCAP_LABEL_TYPE(signed char);
RCAP_LABEL_TYPE(unsigned char);
RCAP_LABEL_TYPE(short);
RCAP_LABEL_TYPE(unsigned short);
RCAP_LABEL_TYPE(int);
RCAP_LABEL_TYPE(unsigned);
RCAP_LABEL_TYPE(long);
RCAP_LABEL_TYPE(unsigned long);
RCAP_LABEL_TYPE(long long);
RCAP_LABEL_TYPE(unsigned long long);
#undef RCAP_LABEL_TYPE

}  // namespace rcap
