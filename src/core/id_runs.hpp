#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rcap/core/exchange.hpp"
#include "rcap/core/ids.hpp"

namespace rcap {

/// Ascending ids in few bytes, to be sent: their number, then the distance of each to the one
/// before, seven bits a byte. Where one sample in 1,000 is sent an id takes two bytes.

/// Writes ascending ids one by one.
class IdRun {
 public:
  void add(SampleId id);
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// Appends the run to `bytes`.
  void append_to(RankBytes& bytes) const;

 private:
  RankBytes distances_;
  std::size_t count_ = 0;
  SampleId last_ = -1;
};

/// Reads a run and takes it off the front of `bytes`.
/// @param first_id  is added to every id
void read_ids(std::span<const std::byte>& bytes, SampleId first_id, std::vector<SampleId>& ids);

}  // namespace rcap
