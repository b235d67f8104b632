#include "study/table_caption.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rcap {
namespace {

/// "1000 each", or the sizes one by one, or their range where there are many.
std::string sizes_text(const std::vector<std::int64_t>& sizes) {
  constexpr std::size_t MostListed = 13;
  const auto [smallest, largest] = std::ranges::minmax(sizes);
  if (smallest == largest) return fmt::format("{} each", smallest);
  if (sizes.size() <= MostListed) return fmt::format("{}", fmt::join(sizes, ", "));
  return fmt::format("{} to {}", smallest, largest);
}

std::string sentence_of(const RunResult& run) {
  const Summary& summary = run.summary;
  const bool by_class = summary.group_by == "class";
  return fmt::format("{}: the groups are its {} {}; samples to evaluate with: {}; to train on: {}.",
                     run.dataset, summary.group_names.size(),
                     by_class ? "classes" : "groups of class and attribute",
                     sizes_text(summary.group_sizes), sizes_text(summary.train_class_sizes));
}

}  // namespace

std::string seeds_text(const StudyResults& results) {
  std::set<std::uint64_t> seeds;
  for (const RunResult& run : results.runs) seeds.insert(run.summary.seed);
  return fmt::format("{} seed{} ({})", seeds.size(), seeds.size() == 1 ? "" : "s",
                     fmt::join(seeds, ", "));
}

std::string describe_groups(const StudyResults& results) {
  std::vector<std::string> sentences;
  for (const std::string& dataset : results.datasets) {
    const auto run = std::ranges::find(results.runs, dataset, &RunResult::dataset);
    if (run != results.runs.end()) sentences.push_back(sentence_of(*run));
  }
  return fmt::format("{}", fmt::join(sentences, " "));
}

}  // namespace rcap
