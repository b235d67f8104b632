#include "core/temperature.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/keys.hpp"

namespace rcap {
namespace {

constexpr std::size_t Bins = 64;
constexpr double WantedPart = 0.5;
constexpr double LowestBeta = 1e-3;
constexpr double HighestBeta = 1e3;

/// The losses of every class in bins of equal width, the highest at its largest loss.
class LossBins {
 public:
  LossBins(const ClassIndex& classes, std::span<const float> losses)
      : sizes_(classes.class_sizes()), widths_(sizes_.size()), counts_(sizes_.size() * Bins) {
    classes.visit([&](auto labels) {
      for (std::size_t i = 0; i < losses.size(); ++i) {
        float& width = widths_[labels[i]];
        width = std::max(width, losses[i]);
      }
      classes.shard().raise(widths_);
      for (float& width : widths_) width /= Bins - 1;
      for (std::size_t i = 0; i < losses.size(); ++i) {
        const float width = widths_[labels[i]];
        const float place = width > 0 ? losses[i] / width + 0.5F : 0.0F;
        counts_[labels[i] * Bins + std::min(static_cast<std::size_t>(place), Bins - 1)] += 1;
      }
    });
    classes.shard().add_up(counts_);
  }

  /// The mean effective part of the classes at this temperature.
  [[nodiscard]] double effective_part(double beta) const {
    double parts = 0;
    double classes = 0;
    for (std::size_t j = 0; j < sizes_.size(); ++j) {
      if (sizes_[j] == 0) continue;
      parts += effective_part(j, beta);
      ++classes;
    }
    return parts / classes;
  }

 private:
  [[nodiscard]] double effective_part(std::size_t class_id, double beta) const {
    // Beside the largest loss: one step down multiplies by the same factor.
    const double step = exact_exp(-static_cast<double>(widths_[class_id]) / beta);
    double factor = 1;
    double sum = 0;
    double squares = 0;
    for (std::size_t bin = Bins; bin-- > 0; factor *= step) {
      const auto count = static_cast<double>(counts_[class_id * Bins + bin]);
      sum += count * factor;
      squares += count * factor * factor;
    }
    return sum * sum / squares / static_cast<double>(sizes_[class_id]);
  }

  std::span<const std::int64_t> sizes_;
  std::vector<float> widths_;
  std::vector<std::int64_t> counts_;
};

}  // namespace

double balanced_beta(const ClassIndex& classes, std::span<const float> losses) {
  constexpr int Steps = 14;  // 20 powers of two become a thousandth of one
  const LossBins bins(classes, losses);
  constexpr double Whole = 1 - 1e-9;
  if (bins.effective_part(LowestBeta) > Whole) return HighestBeta;
  double low = LowestBeta;
  double high = HighestBeta;
  for (int step = 0; step < Steps; ++step) {
    const double middle = std::sqrt(low * high);
    (bins.effective_part(middle) < WantedPart ? low : high) = middle;
  }
  return high;
}

}  // namespace rcap
