#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/ids.hpp"
#include "rcap/core/shard.hpp"

RCAP_API_BEGIN
namespace rcap {

/// Which class every sample belongs to, and how large the classes are.
///
/// Samples may have lengths, in tokens: those of a text, for example. Budgets and class shares are
/// then in tokens, and so is everything here that says so; without lengths every sample counts as
/// one token.
///
/// Labels are stored in sample order in the narrowest type that holds them (one, two or
/// four bytes per sample). Immutable: several pruners and threads may share one.
class ClassIndex {
 public:
  /// More classes than this are treated as a mistake (hashed or raw ids as labels).
  static constexpr ClassId MaxClasses = 1 << 24;
  /// Sample numbers fit 32 bits inside the core: of one process. All shards together may have more.
  static constexpr std::int64_t MaxSamples = 0xffffffff;
  /// The sum of all lengths fits 63 bits.
  static constexpr std::int64_t MaxLength = 0x7fffffff;

  /// @param labels       one per sample, each in [0, class_count)
  /// @param class_count  by default the largest label plus one; a class may be empty
  /// @throws InvalidArgument  no sample or more than `MaxSamples`, or a label out of
  ///                          range (names sample and label)
  ///
  /// Two passes over the labels; defined for every built-in integer type.
  template <std::integral Label>
  explicit ClassIndex(std::span<const Label> labels,
                      std::optional<ClassId> class_count = std::nullopt);

  /// The same from any array of integers: `ClassIndex(std::vector<int>{0, 1, 1})`.
  template <std::ranges::contiguous_range Labels>
  explicit ClassIndex(const Labels& labels, std::optional<ClassId> class_count = std::nullopt)
      : ClassIndex(std::span<const std::ranges::range_value_t<Labels>>(labels), class_count) {}

  /// The same samples with lengths: `ClassIndex(labels).with_lengths(lengths)`.
  ///
  /// @param lengths  one per sample, each from 1 to `MaxLength`
  /// @throws InvalidArgument  another number of lengths, one out of range (names the sample), a
  /// class
  ///                          without samples, or samples in shards
  ///
  /// Keeps four bytes per sample.
  template <std::integral Length>
  [[nodiscard]] ClassIndex with_lengths(std::span<const Length> lengths) &&;
  template <std::ranges::contiguous_range Lengths>
  [[nodiscard]] ClassIndex with_lengths(const Lengths& lengths) && {
    return std::move(*this).with_lengths(
        std::span<const std::ranges::range_value_t<Lengths>>(lengths));
  }

  /// One rank's part of a data set; all ranks make theirs together. Labels are here of the shard's
  /// samples alone, and ids count from its first; sizes and the fingerprint are those of the whole.
  /// @param labels  of the shard's samples
  /// @throws InvalidArgument  as above, on every rank; or the ranks' class counts differ
  template <std::integral Label>
  ClassIndex(std::span<const Label> labels, const Shard& shard,
             std::optional<ClassId> class_count = std::nullopt);

  /// How many samples the data set has.
  [[nodiscard]] std::int64_t sample_count() const noexcept { return shard_.total(); }
  /// How many of them are here: all, unless it is cut into shards.
  [[nodiscard]] std::int64_t local_count() const noexcept { return shard_.sample_count(); }
  [[nodiscard]] const Shard& shard() const noexcept { return shard_; }
  [[nodiscard]] ClassId class_count() const noexcept {
    return static_cast<ClassId>(class_sizes_.size());
  }
  [[nodiscard]] std::span<const std::int64_t> class_sizes() const noexcept { return class_sizes_; }
  /// How many classes have samples; labels may leave gaps.
  [[nodiscard]] ClassId filled_class_count() const noexcept;

  [[nodiscard]] bool has_lengths() const noexcept { return !lengths_.empty(); }
  /// One per sample; empty if every sample counts as one token.
  [[nodiscard]] std::span<const std::uint32_t> lengths() const noexcept { return lengths_; }
  /// The tokens of one sample, which must exist.
  [[nodiscard]] std::uint32_t length_of(SampleId id) const noexcept {
    return has_lengths() ? lengths_[static_cast<std::size_t>(id)] : 1;
  }
  [[nodiscard]] std::int64_t token_count() const noexcept {
    return has_lengths() ? token_count_ : sample_count();
  }
  /// The tokens of each class.
  [[nodiscard]] std::span<const std::int64_t> class_tokens() const noexcept {
    return has_lengths() ? class_tokens_ : class_sizes_;
  }

  /// Calls `f` with the labels as a span of their stored type (`std::uint8_t`,
  /// `std::uint16_t` or `std::uint32_t`), so that loops run on the narrow type.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(
        [&f]<class T>(const std::vector<T>& labels) -> decltype(auto) {
          return std::forward<F>(f)(std::span<const T>(labels));
        },
        labels_);
  }

  /// The class of one sample, which must exist.
  [[nodiscard]] ClassId class_of(SampleId id) const noexcept {
    return visit(
        [id](auto labels) { return static_cast<ClassId>(labels[static_cast<std::size_t>(id)]); });
  }

  /// How many of the given samples, which must exist, each class has; of shards, all ranks give
  /// theirs, and get what all of them have.
  [[nodiscard]] std::vector<std::int64_t> count_by_class(std::span<const SampleId> ids) const;

  /// How many tokens of the given samples each class has.
  [[nodiscard]] std::vector<std::int64_t> tokens_by_class(std::span<const SampleId> ids) const;

  /// A checksum of all labels and of the class count: tells two data sets of
  /// equal size apart. The same whatever integer type the labels came in.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return fingerprint_; }
  /// The same of all lengths; 0 without lengths.
  [[nodiscard]] std::uint64_t length_fingerprint() const noexcept { return length_fingerprint_; }

 private:
  Shard shard_;
  std::vector<std::int64_t> class_sizes_;
  std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>, std::vector<std::uint32_t>>
      labels_;
  std::uint64_t fingerprint_ = 0;
  // With lengths:
  std::vector<std::uint32_t> lengths_;
  std::vector<std::int64_t> class_tokens_;
  std::int64_t token_count_ = 0;
  std::uint64_t length_fingerprint_ = 0;
};

}  // namespace rcap
RCAP_API_END
