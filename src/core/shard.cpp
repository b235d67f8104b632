#include "rcap/core/shard.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "base/formatted.hpp"
#include "core/bytes.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

/// What each rank says of its block.
struct Claim {
  SampleId first_id;
  std::int64_t sample_count;
  std::int64_t total;
};

void check_claims(std::span<const Claim> claims) {
  SampleId end = 0;
  for (std::size_t r = 0; r < claims.size(); ++r) {
    const Claim& claim = claims[r];
    if (claim.total != claims.front().total) {
      throw InvalidArgument(
          formatted("Shard: rank {} says that the data set has {} samples, rank 0 {}; give every "
                    "rank the same number",
                    r, claim.total, claims.front().total));
    }
    if (claim.sample_count < 0) {
      throw InvalidArgument(
          formatted("Shard: rank {} has {} samples; there may be none, but not fewer", r,
                    claim.sample_count));
    }
    if (claim.first_id != end) {
      throw InvalidArgument(
          formatted("Shard: the samples of rank {} begin at {}, those of the ranks before it end "
                    "at {}; blocks "
                    "must follow each other without {} (see shard_range)",
                    r, claim.first_id, end, claim.first_id < end ? "overlap" : "a gap"));
    }
    if (claim.first_id % Shard::Grain != 0 && claim.sample_count > 0) {
      throw InvalidArgument(formatted(
          "Shard: the samples of rank {} begin at {}; blocks begin at multiples of {} (see "
          "shard_range)",
          r, claim.first_id, +Shard::Grain));
    }
    end += claim.sample_count;
  }
  if (end != claims.front().total) {
    throw InvalidArgument(
        formatted("Shard: the ranks have samples 0 to {}, the data set has {}; give the rest to a "
                  "rank",
                  end - 1, claims.front().total));
  }
}

}  // namespace

ShardRange shard_range(std::int64_t sample_count, int rank_count, int rank) {
  if (sample_count < 0 || rank_count < 1 || rank < 0 || rank >= rank_count) {
    throw InvalidArgument(formatted(
        "shard_range: {} samples, rank {} of {}; ranks count from 0 to below their number",
        sample_count, rank, rank_count));
  }
  const std::int64_t grains = (sample_count + Shard::Grain - 1) / Shard::Grain;
  const auto begin = [&](std::int64_t r) {
    // Product and quotient apart: grains * r can be large, their quotient never is.
    const std::int64_t whole = grains / rank_count * r;
    const std::int64_t rest = grains % rank_count * r / rank_count;
    return std::min((whole + rest) * Shard::Grain, sample_count);
  };
  return {begin(rank), begin(rank + 1) - begin(rank)};
}

Shard::Shard(const ShardRange& range, std::int64_t sample_count, Exchange& exchange)
    : range_(range), total_(sample_count), exchange_(exchange.size() > 1 ? &exchange : nullptr) {
  const std::array claim{Claim{range.first_id, range.sample_count, sample_count}};
  const auto claims =
      is_whole() ? std::vector<Claim>{claim.front()} : gather_values<Claim>(exchange, claim);
  check_claims(claims);
  for (const Claim& of_rank : claims) begins_.push_back(of_rank.first_id);
  begins_.push_back(total_);
}

int Shard::owner_of(SampleId id) const noexcept {
  if (is_whole()) return 0;
  // Of ranks that begin at the same place all but the last are empty.
  return static_cast<int>(std::ranges::upper_bound(begins_, id) - begins_.begin()) - 1;
}

std::int64_t Shard::sum(std::int64_t here) const {
  add_up(std::span(&here, 1));
  return here;
}

std::int64_t Shard::lowest(std::int64_t here) const {
  here = -here;
  raise(std::span(&here, 1));
  return -here;
}

void Shard::add_up(std::span<std::int64_t> numbers) const {
  if (!is_whole()) exchange_->all_reduce(numbers, Exchange::Combine::Sum);
}

void Shard::raise(std::span<std::int64_t> numbers) const {
  if (!is_whole()) exchange_->all_reduce(numbers, Exchange::Combine::Max);
}

void Shard::raise(std::span<float> numbers) const {
  if (is_whole()) return;
  // From 0 up, floating-point numbers are in the order of their bits.
  std::vector<std::int64_t> bits(numbers.size());
  std::ranges::transform(numbers, bits.begin(),
                         [](float x) { return std::int64_t{std::bit_cast<std::int32_t>(x)}; });
  raise(bits);
  std::ranges::transform(bits, numbers.begin(), [](std::int64_t x) {
    return std::bit_cast<float>(static_cast<std::int32_t>(x));
  });
}

std::vector<std::int64_t> Shard::begins_of(std::int64_t here) const {
  std::vector<std::int64_t> counts{here};
  if (!is_whole()) counts = gather_values<std::int64_t>(*exchange_, counts);
  std::vector<std::int64_t> begins{0};
  std::partial_sum(counts.begin(), counts.end(), std::back_inserter(begins));
  return begins;
}

}  // namespace rcap
