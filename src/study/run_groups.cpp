#include "study/run_groups.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

namespace rcap {
namespace {

constexpr std::size_t LongestName = 26;

/// How far a beta is from 1 as a ratio; between equal distances, beta itself decides.
std::pair<double, double> distance_from_one(const RunGroup& group) {
  const double beta = group.beta.value_or(1);
  return {std::abs(std::log(beta)), beta};
}

bool same_cell(const RunGroup& a, const RunGroup& b) {
  return a.method == b.method && a.pruning_rate == b.pruning_rate;
}

}  // namespace

std::vector<RunGroup> groups_of(const StudyResults& results, const std::string& dataset) {
  std::vector<RunGroup> groups;
  for (const RunResult& run : results.runs) {
    if (run.dataset != dataset) continue;
    const auto found = std::ranges::find_if(groups, [&](const RunGroup& group) {
      return group.method == run.method && group.pruning_rate == run.summary.pruning_rate &&
             group.beta == run.summary.beta;
    });
    if (found == groups.end()) {
      groups.push_back({run.method, run.summary.pruning_rate, run.summary.beta, {&run}});
    } else {
      found->runs.push_back(&run);
    }
  }
  return groups;
}

std::vector<RunGroup> plain_groups_of(const StudyResults& results, const std::string& dataset) {
  std::vector<RunGroup> plain;
  for (RunGroup& group : groups_of(results, dataset)) {
    const auto found =
        std::ranges::find_if(plain, [&](const RunGroup& other) { return same_cell(group, other); });
    if (found == plain.end()) {
      plain.push_back(std::move(group));
    } else if (distance_from_one(group) < distance_from_one(*found)) {
      *found = std::move(group);
    }
  }
  std::ranges::stable_sort(plain, {}, [&](const RunGroup& group) {
    return std::ranges::find(results.methods, group.method) - results.methods.begin();
  });
  return plain;
}

std::vector<RunGroup> highest_rate_groups_of(const StudyResults& results,
                                             const std::string& dataset) {
  const std::vector<double> rates = results.rates_of(dataset);
  std::vector<RunGroup> groups = plain_groups_of(results, dataset);
  std::erase_if(groups, [&](const RunGroup& group) {
    return group.has_rate() && group.pruning_rate != rates.back();
  });
  return groups;
}

chart::Look look_of(const StudyResults& results, const std::string& method) {
  if (method == "full") return chart::NeutralLook;
  if (method == results.reference) return 0;
  const bool reference_is_there =
      std::ranges::find(results.methods, results.reference) != results.methods.end();
  chart::Look look = reference_is_there ? 1 : 0;
  for (const std::string& other : results.methods) {
    if (other == method) break;
    if (other != "full" && other != results.reference) ++look;
  }
  return look;
}

std::vector<chart::LegendEntry> method_legend(const StudyResults& results,
                                              const std::set<std::string>& methods) {
  std::vector<chart::LegendEntry> legend;
  for (const std::string& method : results.methods) {
    if (!methods.contains(method)) continue;
    legend.push_back({chart::shortened(method, LongestName), look_of(results, method)});
  }
  return legend;
}

void draw_reference_last(chart::Panel& panel) {
  std::ranges::stable_sort(panel.series, std::greater{}, &chart::Series::look);
}

std::string pruned_text(double pruning_rate) {
  return fmt::format("{:.4g} % pruned", 100 * pruning_rate);
}

std::string heading_of(const StudyResults& results, const std::string& dataset) {
  const std::vector<double> rates = results.rates_of(dataset);
  return rates.empty() ? dataset : dataset + ", " + pruned_text(rates.back());
}

}  // namespace rcap
