#include "study/tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text_file.hpp"
#include "rcap/core/error.hpp"

namespace rcap {
namespace {

constexpr const char* PriorAdjustedNote =
    "The same networks, but the logarithm of each class's part of what was trained is subtracted "
    "from their outputs, as far as logit adjustment in training has not done so. ";

/// What a column stands for: a method, at one temperature if a study has several.
struct Column {
  std::string method;
  std::optional<double> beta;
  std::string title;
};

std::vector<Column> columns_of(const StudyResults& results) {
  std::vector<Column> columns;
  for (const std::string& method : results.methods) {
    std::set<double> betas;
    std::map<std::pair<std::string, double>, std::set<double>> betas_in_row;
    for (const RunResult& run : results.runs) {
      if (run.method != method || !run.summary.beta) continue;
      betas.insert(*run.summary.beta);
      betas_in_row[{run.dataset, run.summary.pruning_rate}].insert(*run.summary.beta);
    }
    // A preset may give each rate its own temperature; that is still one column.
    const bool several = std::ranges::any_of(
        betas_in_row, [](const auto& entry) { return entry.second.size() > 1; });
    if (!several) {
      columns.push_back({method, std::nullopt, method});
      continue;
    }
    for (const double beta : betas) {
      columns.push_back({method, beta, fmt::format("{}, beta {}", method, beta)});
    }
  }
  return columns;
}

/// The column of the reference; of several betas, the one nearest to 1.
std::vector<Column>::iterator find_reference(std::vector<Column>& columns,
                                             const std::string& reference) {
  const auto distance = [&](const Column& column) {
    return column.method != reference ? std::numeric_limits<double>::infinity()
                                      : std::abs(std::log(column.beta.value_or(1)));
  };
  const auto nearest = std::ranges::min_element(columns, {}, distance);
  const bool found = nearest != columns.end() && nearest->method == reference;
  return found ? nearest : columns.end();
}

/// The runs of a cell; those without a rate are used for every rate.
Runs runs_of(const StudyResults& results, const std::string& dataset, double rate,
             const Column& column) {
  Runs runs;
  for (const RunResult& run : results.runs) {
    const bool fits = run.dataset == dataset && run.method == column.method &&
                      (!run.has_rate() || run.summary.pruning_rate == rate) &&
                      (!column.beta || run.summary.beta == column.beta);
    if (fits) runs.push_back(&run);
  }
  return runs;
}

double percent_of(const Accuracies& accuracies, Metric metric) {
  return 100 * (metric == Metric::Worst ? accuracies.worst_group_accuracy
                                        : accuracies.average_group_accuracy);
}

/// Those of the runs that have such answers.
Runs runs_with(Answers answers, Runs runs) {
  std::erase_if(runs, [&](const RunResult* run) {
    return answers == Answers::PriorAdjusted && !run->summary.evaluation.prior_adjusted;
  });
  return runs;
}

const Accuracies& accuracies_of(const Summary& summary, Answers answers) {
  return answers == Answers::Plain ? summary.evaluation : *summary.evaluation.prior_adjusted;
}

bool has_no_cell(const Table::Row& row) {
  return std::ranges::none_of(row.cells, [](const auto& cell) { return cell.has_value(); });
}

std::string name_of(Metric metric) {
  return metric == Metric::Worst ? "worst-group" : "average-group";
}

std::string with_deviation(const MeanAndDeviation& value, std::size_t usual_count) {
  std::string text = fmt::format("{:.1f} ± {:.1f}", value.mean, value.deviation);
  if (std::cmp_not_equal(value.count, usual_count)) text += fmt::format(" (n = {})", value.count);
  return text;
}

/// Ranks by what a reader sees, so that equal numbers are equally good.
void rank_row(Table::Row& row) {
  std::set<double, std::greater<>> shown;
  const auto seen = [](const Table::Cell& cell) { return std::round(10 * cell.value.mean); };
  for (const auto& cell : row.cells) {
    if (cell && cell->has_rate) shown.insert(seen(*cell));
  }
  if (shown.size() < 2) return;
  for (auto& cell : row.cells) {
    if (!cell || !cell->has_rate) continue;
    const auto place = std::distance(shown.begin(), shown.find(seen(*cell)));
    cell->rank = place < 2 ? static_cast<int>(place) + 1 : 0;
  }
}

/// Makes the rows of a table; `make_cell(row, runs)` makes a cell from its runs.
template <class MakeCell>
Table make_table(const StudyResults& results, const std::vector<Column>& columns,
                 MakeCell&& make_cell) {
  Table table;
  for (const Column& column : columns) table.columns.push_back(column.title);
  for (const std::string& dataset : results.datasets) {
    for (const double rate : results.rates_of(dataset)) {
      Table::Row row{dataset, rate, {}};
      for (const Column& column : columns) {
        const Runs runs = runs_of(results, dataset, rate, column);
        auto& cell = row.cells.emplace_back();
        if (!runs.empty()) cell = make_cell(row, runs);
        if (cell) cell->samples = samples_of(runs);
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

std::set<std::uint64_t> seeds_of(const StudyResults& results) {
  std::set<std::uint64_t> seeds;
  for (const RunResult& run : results.runs) seeds.insert(run.summary.seed);
  return seeds;
}

/// "1000 each", or the sizes one by one, or their range if there are many.
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
  return fmt::format("{}: the groups are its {} {}; samples to evaluate on: {}; to train on: {}.",
                     run.dataset, summary.group_names.size(),
                     by_class ? "classes" : "groups of class and attribute",
                     sizes_text(summary.group_sizes), sizes_text(summary.train_class_sizes));
}

/// What the groups are and how large they are, a sentence for each data set: one sample more or
/// less moves the accuracy of a small group by points.
std::string describe_groups(const StudyResults& results) {
  std::vector<std::string> sentences;
  for (const std::string& dataset : results.datasets) {
    const auto run = std::ranges::find(results.runs, dataset, &RunResult::dataset);
    if (run == results.runs.end()) continue;
    sentences.push_back(sentence_of(*run));
    const std::string remarks = results.remarks_on(dataset);
    if (!remarks.empty()) sentences.push_back(remarks);
  }
  return fmt::format("{}", fmt::join(sentences, " "));
}

/// How methods other than full without a rate are shown: ", ies on what its own rule leaves ...".
std::string unranked_text(const StudyResults& results) {
  std::vector<std::string> names;
  for (const std::string& method : results.methods) {
    const auto run = std::ranges::find(results.runs, method, &RunResult::method);
    if (run != results.runs.end() && !run->has_rate() && !run->is_full()) names.push_back(method);
  }
  if (names.empty()) return "";
  return fmt::format(", {} on what {} own rule leaves at any rate: not ranked",
                     fmt::join(names, ", "), names.size() == 1 ? "its" : "their");
}

std::string seconds_text(double seconds) {
  return seconds < 100 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

/// Values of `ours` minus those of `theirs` with the same seed.
std::vector<double> paired_differences(const Runs& ours, const Runs& theirs, Metric metric) {
  std::vector<double> differences;
  for (const RunResult* run : ours) {
    const auto pair = std::ranges::find_if(
        theirs, [&](const RunResult* other) { return other->summary.seed == run->summary.seed; });
    if (pair != theirs.end()) {
      differences.push_back(percent_of(run->summary.evaluation, metric) -
                            percent_of((*pair)->summary.evaluation, metric));
    }
  }
  return differences;
}

}  // namespace

MeanAndDeviation mean_and_deviation_of(const std::vector<double>& values) {
  if (values.empty()) throw InvalidArgument("mean_and_deviation_of: there are no values");
  const auto count = static_cast<double>(values.size());
  MeanAndDeviation found;
  found.count = static_cast<int>(values.size());
  found.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - found.mean) * (value - found.mean);
  found.deviation = std::sqrt(squares / count);
  return found;
}

MeanAndDeviation seconds_of(const Runs& runs) {
  return over_runs(runs, [](const Summary& summary) { return summary.seconds.total(); });
}

std::optional<MeanSamples> samples_of(const Runs& runs) {
  const auto counts = [](const RunResult* run) { return run->summary.cost.has_value(); };
  if (!std::ranges::all_of(runs, counts)) return std::nullopt;
  const auto mean = [&](std::int64_t SampleCost::*part) {
    return over_runs(
               runs,
               [&](const Summary& summary) { return static_cast<double>((*summary.cost).*part); })
        .mean;
  };
  return MeanSamples{mean(&SampleCost::trained), mean(&SampleCost::forward)};
}

std::string seeds_text(const StudyResults& results) {
  const std::set<std::uint64_t> seeds = seeds_of(results);
  return fmt::format("{} seed{} ({})", seeds.size(), seeds.size() == 1 ? "" : "s",
                     fmt::join(seeds, ", "));
}

Table accuracy_table(const StudyResults& results, Metric metric, Answers answers) {
  const std::size_t seeds = seeds_of(results).size();
  const auto make_cell = [&](const Table::Row&, const Runs& all) {
    std::optional<Table::Cell> cell;
    const Runs runs = runs_with(answers, all);
    if (runs.empty()) return cell;
    const MeanAndDeviation found = over_runs(runs, [&](const Summary& summary) {
      return percent_of(accuracies_of(summary, answers), metric);
    });
    cell = {
        .value = found, .text = with_deviation(found, seeds), .has_rate = runs.front()->has_rate()};
    return cell;
  };
  Table table = make_table(results, columns_of(results), make_cell);
  if (answers == Answers::PriorAdjusted) std::erase_if(table.rows, has_no_cell);
  for (Table::Row& row : table.rows) rank_row(row);
  const bool is_adjusted = answers == Answers::PriorAdjusted;
  table.title = fmt::format("{} of the {}, %", is_adjusted ? "Prior-adjusted accuracy" : "Accuracy",
                            metric == Metric::Worst ? "worst group" : "average group");
  table.caption = fmt::format(
      "{}Mean ± population deviation over {}. Best pruned method of a data set and rate bold, "
      "second underlined; full trains on everything{}. {}",
      is_adjusted ? PriorAdjustedNote : "", seeds_text(results), unranked_text(results),
      describe_groups(results));
  return table;
}

Table difference_table(const StudyResults& results, Metric metric) {
  std::vector<Column> columns = columns_of(results);
  const auto reference = find_reference(columns, results.reference);
  if (reference == columns.end()) return {};
  const Column compared_with = *reference;
  columns.erase(reference);
  const std::size_t seeds = seeds_of(results).size();
  const auto make_cell = [&](const Table::Row& row, const Runs& runs) {
    const Runs others = runs_of(results, row.dataset, row.pruning_rate, compared_with);
    const std::vector<double> values = paired_differences(runs, others, metric);
    std::optional<Table::Cell> cell;
    if (values.empty()) return cell;
    const MeanAndDeviation found = mean_and_deviation_of(values);
    cell = {.value = found, .text = (found.mean > 0 ? "+" : "") + with_deviation(found, seeds)};
    return cell;
  };
  Table table = make_table(results, columns, make_cell);
  table.title = fmt::format("Difference from {} in {} accuracy, points", compared_with.title,
                            name_of(metric));
  table.caption = fmt::format(
      "Mean ± population deviation of the differences between runs of the same seed, over {}; "
      "above 0: better than {}. {}",
      seeds_text(results), compared_with.title, describe_groups(results));
  return table;
}

Table cost_table(const StudyResults& results) {
  const auto find_full = [&](const std::string& dataset) {
    Runs runs;
    for (const RunResult& run : results.runs) {
      if (run.dataset == dataset && run.is_full()) runs.push_back(&run);
    }
    return runs;
  };
  const auto make_cell = [&](const Table::Row& row, const Runs& runs) {
    const MeanAndDeviation cost = seconds_of(runs);
    std::string text = seconds_text(cost.mean);
    const Runs full = find_full(row.dataset);
    if (!full.empty() && !runs.front()->is_full()) {
      text += fmt::format(" ({:.1f}x)", seconds_of(full).mean / cost.mean);
    }
    const double scoring =
        over_runs(runs, [](const Summary& summary) { return summary.seconds.scoring; }).mean;
    if (scoring > 0) text += fmt::format(", scoring {}", seconds_text(scoring));
    return Table::Cell{.value = cost, .text = text, .has_rate = runs.front()->has_rate()};
  };
  Table table = make_table(results, columns_of(results), make_cell);
  table.title = "Cost of a run";
  table.caption = fmt::format(
      "Total seconds, mean over {}: setting up, the pass before training, selecting, training, "
      "evaluating, checkpoints, and the scoring run a method needs (also listed separately; in a "
      "study it is made once for all rates). In parentheses, how many times cheaper than full.",
      seeds_text(results));
  return table;
}

Table samples_table(const StudyResults& results) {
  const auto make_cell = [](const Table::Row&, const Runs& runs) {
    std::optional<Table::Cell> cell;
    const auto samples = samples_of(runs);
    if (!samples) return cell;
    std::string text = samples_text(samples->trained);
    if (samples->forward > 0) text += " + " + samples_text(samples->forward);
    cell = {.value = {static_cast<int>(runs.size()), samples->trained + samples->forward, 0},
            .text = text,
            .has_rate = runs.front()->has_rate()};
    return cell;
  };
  Table table = make_table(results, columns_of(results), make_cell);
  table.title = "Samples of a run";
  table.caption = fmt::format(
      "Mean over {}: samples that went forward and backward in all epochs, including those of a "
      "scoring run, and after a plus those that went forward only. Evaluations do not count.",
      seeds_text(results));
  return table;
}

void write_tables(const StudyResults& results, const std::filesystem::path& folder) {
  std::vector<std::pair<const char*, Table>> tables = {
      {"worst_group", accuracy_table(results, Metric::Worst)},
      {"average_group", accuracy_table(results, Metric::Average)},
      {"worst_group_difference", difference_table(results, Metric::Worst)},
      {"average_group_difference", difference_table(results, Metric::Average)},
      {"worst_group_adjusted", accuracy_table(results, Metric::Worst, Answers::PriorAdjusted)},
      {"average_group_adjusted", accuracy_table(results, Metric::Average, Answers::PriorAdjusted)},
      {"cost", cost_table(results)},
  };
  if (is_wide(tables.front().second)) tables.emplace_back("samples", samples_table(results));
  std::string all = fmt::format("# {}\n", results.title);
  for (const auto& [name, table] : tables) {
    if (table.rows.empty()) continue;
    const std::string path = (folder / fmt::format("table_{}", name)).string();
    write_text(path + ".md", to_markdown(table));
    write_text(path + ".tex", to_latex(table));
    write_text(path + ".csv", to_csv(table));
    all += "\n" + to_markdown(table);
  }
  if (!results.missing.empty()) all += "\n## Runs without a result\n\n";
  for (const MissingRun& run : results.missing)
    all += fmt::format("- {}: {}\n", run.name, run.reason);
  write_text(folder / "tables.md", all);
}

}  // namespace rcap
