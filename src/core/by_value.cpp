#include "core/by_value.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "core/set_bits.hpp"
#include "rcap/core/top_scores.hpp"
#include "rcap/core/weighted_draw.hpp"

namespace rcap {
namespace {

/// Orders as the values do; both zeros have one key.
std::uint32_t key_of_value(float value) noexcept {
  return std::bit_cast<std::uint32_t>(value + 0.0F);
}

/// Calls `use` with the place of every member, ascending.
template <class Use>
void for_each_member(const SampleSet& samples, const Use& use) {
  const auto words = samples.words();
  for (std::size_t first = 0; first < words.size(); first += SetBits::MostWords) {
    const SetBits bits(words.subspan(first, std::min(SetBits::MostWords, words.size() - first)));
    for (const std::uint16_t place : bits) use(64 * first + place);
  }
}

template <class IsMeant>
SampleSet samples_where(std::span<const float> values, const IsMeant& is_meant) {
  SampleSet meant(static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    meant.words()[i / 64] |= static_cast<std::uint64_t>(is_meant(values[i])) << (i % 64);
  }
  return meant;
}

/// A key, and how many candidates lie below it.
struct KeyAtPlace {
  std::uint32_t key;
  std::int64_t below;
};

constexpr std::size_t HalfKeys = 1U << 16;

/// @param histogram  how many there are of each key
KeyAtPlace key_at(std::span<const std::int64_t> histogram, std::int64_t place) {
  KeyAtPlace found{0, 0};
  for (; found.below + histogram[found.key] <= place; ++found.key) {
    found.below += histogram[found.key];
  }
  return found;
}

/// The keys at two places, half a key at a time.
std::pair<KeyAtPlace, KeyAtPlace> keys_at(std::span<const float> values,
                                          const SampleSet& candidates, std::int64_t first,
                                          std::int64_t last) {
  std::vector<std::int64_t> upper(HalfKeys), lower_of_first(HalfKeys), lower_of_last(HalfKeys);
  for_each_member(candidates, [&](std::size_t id) { ++upper[key_of_value(values[id]) >> 16]; });
  const KeyAtPlace upper_of_first = key_at(upper, first);
  const KeyAtPlace upper_of_last = key_at(upper, last);
  for_each_member(candidates, [&](std::size_t id) {
    const std::uint32_t key = key_of_value(values[id]);
    if (key >> 16 == upper_of_first.key) ++lower_of_first[key % HalfKeys];
    if (key >> 16 == upper_of_last.key) ++lower_of_last[key % HalfKeys];
  });
  const auto whole = [](const KeyAtPlace& half, std::span<const std::int64_t> lower,
                        std::int64_t place) {
    const KeyAtPlace rest = key_at(lower, place - half.below);
    return KeyAtPlace{half.key << 16 | rest.key, half.below + rest.below};
  };
  return {whole(upper_of_first, lower_of_first, first), whole(upper_of_last, lower_of_last, last)};
}

/// `count` of these samples: all of them, as mostly where no two are equal, or a draw.
SampleSet some_of(const SampleSet& samples, std::int64_t count, const RandomStream& stream,
                  const Workers& workers) {
  return samples.count() == count ? samples : draw_from(samples, count, stream, workers);
}

/// Sorts keys, eleven bits at a time.
void sort_keys(std::vector<std::uint32_t>& keys) {
  constexpr int DigitBits = 11;
  constexpr std::uint32_t Digits = 1U << DigitBits;
  std::vector<std::uint32_t> other(keys.size());
  for (int shift = 0; shift < 32; shift += DigitBits) {
    std::array<std::size_t, Digits + 1> next{};
    for (const std::uint32_t key : keys) ++next[(key >> shift) % Digits + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (const std::uint32_t key : keys) other[next[(key >> shift) % Digits]++] = key;
    std::swap(keys, other);
  }
}

/// Lloyd's algorithm on sorted values.
class Lloyd {
 public:
  Lloyd(std::vector<float> sorted, std::int64_t groups)
      : values_(std::move(sorted)),
        sums_(values_.size() + 1),
        ends_(static_cast<std::size_t>(groups)) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      sums_[i + 1] = sums_[i] + static_cast<double>(values_[i]);
    }
    for (std::size_t g = 0; g < ends_.size(); ++g) {
      const std::size_t middle = (2 * g + 1) * values_.size() / (2 * ends_.size());
      centres_.push_back(static_cast<double>(values_[middle]));
    }
  }

  /// For each group, behind its last value.
  std::span<const std::size_t> run() {
    constexpr int MostRounds = 300;
    for (int round = 0; round < MostRounds && assign(); ++round) move_centres();
    return ends_;
  }

  [[nodiscard]] std::span<const float> values() const noexcept { return values_; }

 private:
  /// Gives every value to the nearest centre, the lower one if two are.
  /// @return whether any changed its group
  bool assign() {
    bool changed = false;
    for (std::size_t g = 0; g < ends_.size(); ++g) {
      std::size_t end = values_.size();
      if (g + 1 < ends_.size()) {
        const double middle = (centres_[g] + centres_[g + 1]) / 2;
        end = static_cast<std::size_t>(
            std::ranges::upper_bound(values_, middle, {},
                                     [](float value) { return static_cast<double>(value); }) -
            values_.begin());
      }
      changed = changed || end != ends_[g];
      ends_[g] = end;
    }
    return changed;
  }

  /// An empty group keeps its centre.
  void move_centres() {
    std::size_t begin = 0;
    for (std::size_t g = 0; g < ends_.size(); ++g) {
      if (ends_[g] > begin) {
        centres_[g] = (sums_[ends_[g]] - sums_[begin]) / static_cast<double>(ends_[g] - begin);
      }
      begin = ends_[g];
    }
  }

  std::vector<float> values_;
  std::vector<double> sums_;  ///< of the values before each place
  std::vector<double> centres_;
  std::vector<std::size_t> ends_;
};

std::vector<float> sorted(std::vector<float> values) {
  std::vector<std::uint32_t> keys(values.size());
  std::ranges::transform(values, keys.begin(), key_of_value);
  sort_keys(keys);
  std::ranges::transform(keys, values.begin(),
                         [](std::uint32_t key) { return std::bit_cast<float>(key); });
  return values;
}

}  // namespace

SampleSet samples_below(std::span<const float> values, double bound) {
  return samples_where(values, [bound](float value) { return static_cast<double>(value) < bound; });
}

SampleSet samples_above(std::span<const float> values, double bound) {
  return samples_where(values, [bound](float value) { return static_cast<double>(value) > bound; });
}

SampleSet samples_at_places(std::span<const float> values, const SampleSet& candidates,
                            std::int64_t first, std::int64_t count, const RandomStream& stream,
                            const Workers& workers) {
  SampleSet chosen(candidates.sample_count());
  if (count == 0) return chosen;
  const auto [low, high] = keys_at(values, candidates, first, first + count - 1);
  SampleSet lowest(candidates.sample_count());
  SampleSet highest(candidates.sample_count());
  for_each_member(candidates, [&, low_key = low.key, high_key = high.key](std::size_t id) {
    const std::uint32_t key = key_of_value(values[id]);
    if (key < low_key || key > high_key) return;
    SampleSet& set = key == low_key ? lowest : key == high_key ? highest : chosen;
    set.insert(static_cast<SampleId>(id));
  });
  const std::int64_t skipped = first - low.below;  // of the lowest, before the first place
  const std::int64_t of_lowest = std::min(lowest.count() - skipped, count);
  chosen.unite(some_of(lowest, of_lowest, stream, workers));
  if (high.key != low.key) {
    chosen.unite(some_of(highest, first + count - high.below, stream, workers));
  }
  return chosen;
}

std::vector<float> group_starts(std::vector<float> values, std::int64_t groups) {
  Lloyd lloyd(sorted(std::move(values)), groups);
  std::vector<float> starts{0};
  for (const std::size_t end : lloyd.run()) {
    starts.push_back(end < lloyd.values().size() ? lloyd.values()[end]
                                                 : std::numeric_limits<float>::infinity());
  }
  starts.pop_back();
  return starts;
}

void select_at_least(std::int64_t least, std::span<const float> values, SampleSet& selected) {
  if (selected.count() < least) selected = top_scores(values, least);
}

}  // namespace rcap
