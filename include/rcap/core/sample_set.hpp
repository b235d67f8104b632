#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/ids.hpp"
#include "rcap/core/workers.hpp"

RCAP_API_BEGIN
namespace rcap {

/// A set of samples of one data set: one bit for each sample.
class SampleSet {
 public:
  explicit SampleSet(std::int64_t sample_count)
      : sample_count_(sample_count), words_((static_cast<std::size_t>(sample_count) + 63) / 64) {}

  /// The set that holds every sample.
  [[nodiscard]] static SampleSet all(std::int64_t sample_count);

  /// The size of the data set, not of the set.
  [[nodiscard]] std::int64_t sample_count() const noexcept { return sample_count_; }

  [[nodiscard]] bool contains(SampleId id) const noexcept {
    return ((words_[word_of(id)] >> (id & 63)) & 1) != 0;
  }
  void insert(SampleId id) noexcept { words_[word_of(id)] |= bit_of(id); }

  /// Erases the sample and returns whether it was there.
  bool erase_present(SampleId id) noexcept {
    std::uint64_t& word = words_[word_of(id)];
    const bool present = (word & bit_of(id)) != 0;
    word &= ~bit_of(id);
    return present;
  }

  /// How many samples the set holds. O(n / 64).
  [[nodiscard]] std::int64_t count() const noexcept;

  /// The members in ascending order.
  [[nodiscard]] std::vector<SampleId> ids(const Workers& workers = 1) const;
  /// The same into a vector whose memory is reused.
  void list_ids(std::vector<SampleId>& ids, const Workers& workers = 1) const;

  /// Removes the members of `other`, a set over the same data set.
  void subtract(const SampleSet& other) noexcept;
  /// Adds the members of `other`, a set over the same data set.
  void unite(const SampleSet& other) noexcept;

  /// Bit `id % 64` of word `id / 64` stands for sample `id`; bits past the last
  /// sample are 0.
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return words_; }
  [[nodiscard]] std::span<std::uint64_t> words() noexcept { return words_; }

  bool operator==(const SampleSet&) const = default;

 private:
  static std::size_t word_of(SampleId id) noexcept { return static_cast<std::size_t>(id) >> 6; }
  static std::uint64_t bit_of(SampleId id) noexcept { return std::uint64_t{1} << (id & 63); }

  std::int64_t sample_count_;
  std::vector<std::uint64_t> words_;
};

}  // namespace rcap
RCAP_API_END
