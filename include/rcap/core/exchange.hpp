#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rcap/core/export.hpp"

RCAP_API_BEGIN
namespace rcap {

/// What one rank sends or receives.
using RankBytes = std::vector<std::byte>;

/// What the ranks that share a data set (`Shard`) tell each other: three operations that every
/// framework for distributed programs has. The core decides what is exchanged; who implements this
/// brings it across.
///
/// Every function is called by all ranks, in the same order, and waits for the others. It throws if
/// they cannot be reached; the pruner that called it is then of no more use.
class Exchange {
 public:
  enum class Combine { Sum, Max };

  Exchange() = default;
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Counted from 0 to below `size`.
  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;

  /// Replaces each number by its sum (modulo 2^64) or maximum over all ranks.
  /// @param numbers  as many on every rank
  virtual void all_reduce(std::span<std::int64_t> numbers, Combine combine) = 0;
  /// The bytes of every rank, in the order of ranks.
  /// @param bytes  any number, another one on each rank
  [[nodiscard]] virtual std::vector<RankBytes> all_gather(std::span<const std::byte> bytes) = 0;
  /// What every rank had for this one, in the order of ranks.
  /// @param parts  one for each rank, of any length
  [[nodiscard]] virtual std::vector<RankBytes> all_to_all(std::vector<RankBytes> parts) = 0;
};

}  // namespace rcap
RCAP_API_END
