#pragma once

#include <span>
#include <string_view>

namespace rcap {

/// What the studies in docs/results measured, as far as `advise` refers to it. A test holds every
/// number to the tables there.

/// Of the worst and of the average class, in percent.
struct MeasuredAccuracy {
  double worst;
  double average;
};

/// A data set at a rate, mean over the seeds.
struct StudyRow {
  std::string_view folder;   ///< "docs/results/fashion"
  std::string_view dataset;  ///< as its tables call it
  double imbalance;          ///< largest class over smallest
  double pruning_rate;
  MeasuredAccuracy full, rcap, balanced, rs2;
};

/// By data set, rates ascending.
[[nodiscard]] std::span<const StudyRow> study_rows() noexcept;

// The data sets among them.
inline constexpr int FewestStudySamples = 14880;
inline constexpr int MostStudySamples = 80778;
inline constexpr int FewestStudyClasses = 7;
inline constexpr int MostStudyClasses = 26;

}  // namespace rcap
