#pragma once

#include <cstdint>

#include "rcap/core/export.hpp"
#include "rcap/core/ids.hpp"

RCAP_API_BEGIN
namespace rcap {

/// What a random number is for. Streams of different purposes are independent, so
/// two methods with the same seed can share the order of an epoch but differ
/// in what they select. The values are part of the file and result format.
enum class Purpose : std::uint64_t {
  Selection = 1,       ///< which samples an epoch trains on
  Order = 2,           ///< in which order it visits them
  Permutation = 3,     ///< the passes of sampling without replacement (RS2)
  Exploration = 4,     ///< the random part of epsilon-greedy
  Budget = 5,          ///< which samples are dropped when a budget ends in mid-epoch
  Augmentation = 6,    ///< crops and flips
  InitialWeights = 7,  ///< a network before training
  Subsample = 8,       ///< data sets made long-tailed, held-out parts
  Synthetic = 9,       ///< generated data
  Dropout = 10,        ///< what a network draws while it trains
};

/// The number whose product with x, an odd number, is 1 modulo 2^64.
[[nodiscard]] constexpr std::uint64_t inverse_of_odd(std::uint64_t x) noexcept {
  std::uint64_t inverse = x;  // right in its last 3 bits, and in twice as many after each step
  for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - x * inverse;
  return inverse;
}

/// The finaliser of SplitMix64 (Stafford's mix 13): a bijection of 64 bits.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// The number that `mix64` turns into x.
[[nodiscard]] constexpr std::uint64_t unmix64(std::uint64_t x) noexcept {
  x = (x ^ (x >> 31) ^ (x >> 62)) * inverse_of_odd(0x94d049bb133111ebULL);
  x = (x ^ (x >> 27) ^ (x >> 54)) * inverse_of_odd(0xbf58476d1ce4e5b9ULL);
  return x ^ (x >> 30) ^ (x >> 60);
}

/// Random numbers addressed by sample: element `id` of the SplitMix64 sequence
/// whose start is a hash of (run seed, purpose, epoch). A stream has no position,
/// so threads, processes and visiting order cannot change a number.
///
///     RandomStream stream(run_seed, Purpose::Selection, epoch);
///     double u = stream.uniform(sample_id);
///
/// For a fixed stream `bits` is a bijection of the id: no two samples ever have
/// the same number, however many there are.
class RandomStream {
 public:
  static constexpr std::uint64_t Gamma = 0x9e3779b97f4a7c15ULL;

  constexpr RandomStream(std::uint64_t run_seed, Purpose purpose, std::int64_t epoch) noexcept
      : start_(absorb(absorb(absorb(0, run_seed), static_cast<std::uint64_t>(purpose)),
                      static_cast<std::uint64_t>(epoch))) {}

  /// A stream with a given SplitMix64 start, for tests against that generator.
  [[nodiscard]] static constexpr RandomStream from_start(std::uint64_t start) noexcept {
    return RandomStream(start);
  }

  /// The same numbers for ids that count from `first_id`.
  [[nodiscard]] constexpr RandomStream from_id(SampleId first_id) const noexcept {
    return RandomStream(start_ + static_cast<std::uint64_t>(first_id) * Gamma);
  }

  /// 64 random bits for a sample.
  [[nodiscard]] constexpr std::uint64_t bits(SampleId id) const noexcept {
    return mix64(state(id));
  }

  /// The sample that has these bits.
  [[nodiscard]] constexpr SampleId id_of(std::uint64_t bits) const noexcept {
    return static_cast<SampleId>((unmix64(bits) - start_) * inverse_of_odd(Gamma) - 1);
  }

  /// A number in the open interval (0, 1); never 0 and never 1.
  [[nodiscard]] constexpr double uniform(SampleId id) const noexcept {
    return (static_cast<double>(bits(id) >> 12) + 0.5) * 0x1p-52;
  }

  /// An integer in [0, bound), `bound` > 0. The bias is below bound / 2^64.
  [[nodiscard]] constexpr std::uint64_t below(std::uint64_t bound, SampleId id) const noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(bits(id)) * bound) >> 64);
  }

  /// The input of `mix64` in `bits`: grows by `Gamma` from one id to the next, so a loop over
  /// neighbouring ids needs one addition and one `mix64` per sample.
  [[nodiscard]] constexpr std::uint64_t state(SampleId id) const noexcept {
    return start_ + (static_cast<std::uint64_t>(id) + 1) * Gamma;
  }

 private:
  explicit constexpr RandomStream(std::uint64_t start) noexcept : start_(start) {}

  /// For a fixed `hash` a bijection of `word`: streams that differ in a single word
  /// never have the same start.
  static constexpr std::uint64_t absorb(std::uint64_t hash, std::uint64_t word) noexcept {
    return mix64(hash + Gamma + mix64(word + Gamma));
  }

  std::uint64_t start_;
};

}  // namespace rcap
RCAP_API_END
