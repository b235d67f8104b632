#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rcap/core/export.hpp"
#include "rcap/core/ids.hpp"

RCAP_API_BEGIN
namespace rcap {

struct Selection;

/// What an epoch keeps, as an answer to "is this sample in it?": for data that are read in an order
/// of their own, such as shards of a stream, where a list of ids cannot say what to read next.
///
///     const Filter filter(pruner->select(epoch), classes->sample_count());
///     filter.save("epoch.filter");                          // one bit per sample
///     ...
///     const Filter filter = Filter::load("epoch.filter");   // in any number of processes
///     filter.keep(ids_of_a_batch, mask);
///
/// A loaded filter is mapped, so that the processes of a machine share its memory. Filters are
/// constant and cheap to copy, and any number of threads may ask one.
class Filter {
 public:
  /// @param sample_count  of the data set
  /// @throws InvalidArgument  see the other constructor
  Filter(const Selection& selection, std::int64_t sample_count);

  /// @param epoch         what it is for, at least 0
  /// @param sample_count  of the data set, at least 0
  /// @param ids           what it keeps, in any order, each once
  /// @param weights       one per id, finite and >= 0; none if all are 1
  /// @throws InvalidArgument  a condition above is not met; names the sample
  ///
  /// O(sample_count / 64 + ids).
  Filter(std::int64_t epoch, std::int64_t sample_count, std::span<const SampleId> ids,
         std::span<const float> weights);

  /// Maps a file that `save` wrote, and checks all of it once: 0.05 s at 10^9 samples without
  /// weights.
  /// @throws BadFile        there is no such file, or it is damaged
  /// @throws StateMismatch  a filter of another version of the format
  [[nodiscard]] static Filter load(const std::filesystem::path& path);

  /// From a copy of the bytes that `bytes` returned or `save` wrote.
  /// @throws BadFile        it is damaged
  /// @throws StateMismatch  a filter of another version of the format
  [[nodiscard]] static Filter from_bytes(std::span<const std::byte> bytes);

  /// Writes the filter, atomically: who reads the path meanwhile gets the whole old one or the
  /// whole new one, and who has loaded the old one keeps it.
  /// @throws BadFile  the file cannot be written
  void save(const std::filesystem::path& path) const;

  /// The bytes that `save` writes (docs/select.md describes them).
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

  [[nodiscard]] std::int64_t epoch() const noexcept { return epoch_; }
  /// The size of the data set.
  [[nodiscard]] std::int64_t sample_count() const noexcept { return sample_count_; }
  /// How many samples it keeps.
  [[nodiscard]] std::int64_t kept_count() const noexcept { return kept_count_; }
  /// Whether samples have weights other than 1.
  [[nodiscard]] bool weighs() const noexcept { return !weights_.empty(); }

  /// Whether the epoch keeps a sample.
  /// @throws InvalidArgument  a sample that is not in the data set
  [[nodiscard]] bool contains(SampleId id) const;

  /// Writes 1 for each sample that the epoch keeps, 0 for each other one.
  /// @param mask  as long as `ids`
  /// @throws InvalidArgument  a sample that is not in the data set; nothing is written
  void keep(std::span<const SampleId> ids, std::span<std::uint8_t> mask) const;

  /// Writes the factor of each sample's loss: 0 if the epoch leaves it out.
  /// @param weights  as long as `ids`
  /// @throws InvalidArgument  a sample that is not in the data set; nothing is written
  void weigh(std::span<const SampleId> ids, std::span<float> weights) const;

  /// What it keeps, ascending.
  [[nodiscard]] std::vector<SampleId> ids() const;

 private:
  /// @param owner  keeps the bytes alive
  /// @param where  what messages begin with
  Filter(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
         const std::string& where);

  void find_parts();
  void require_known(const char* where, std::span<const SampleId> ids) const;
  [[nodiscard]] bool holds(SampleId id) const noexcept {
    return ((words_[static_cast<std::size_t>(id) >> 6] >> (id & 63)) & 1) != 0;
  }
  /// How many samples below `id` it keeps.
  [[nodiscard]] std::size_t rank(SampleId id) const noexcept;

  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;  ///< all of it, as in a file; the others are parts of it
  std::int64_t epoch_ = 0;
  std::int64_t sample_count_ = 0;
  std::int64_t kept_count_ = 0;
  std::span<const std::uint64_t> words_;   ///< one bit per sample
  std::span<const std::uint64_t> before_;  ///< with weights: kept samples before each block
  std::span<const float> weights_;         ///< of the kept samples, by id
};

}  // namespace rcap
RCAP_API_END
