#include "study/tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text_file.hpp"
#include "rcap/core/error.hpp"
#include "study/table_caption.hpp"

namespace rcap {
namespace {

/// What a column stands for: a method, at one temperature where a study has several.
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
    // A preset may give each rate a temperature of its own; that is one column.
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

/// The column of the reference; of several betas the one nearest to 1.
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

using Runs = std::vector<const RunResult*>;

bool is_full(const RunResult& run) { return run.summary.method == "full"; }

/// The runs behind a cell; those of "full" serve every rate.
Runs runs_of(const StudyResults& results, const std::string& dataset, double rate,
             const Column& column) {
  Runs runs;
  for (const RunResult& run : results.runs) {
    const bool fits = run.dataset == dataset && run.method == column.method &&
                      (is_full(run) || run.summary.pruning_rate == rate) &&
                      (!column.beta || run.summary.beta == column.beta);
    if (fits) runs.push_back(&run);
  }
  return runs;
}

double percent_of(const RunResult& run, Metric metric) {
  const Evaluation& evaluation = run.summary.evaluation;
  return 100 * (metric == Metric::Worst ? evaluation.worst_group_accuracy
                                        : evaluation.average_group_accuracy);
}

std::string name_of(Metric metric) {
  return metric == Metric::Worst ? "worst-group" : "average-group";
}

std::string with_deviation(const MeanAndDeviation& value, int decimals, int usual_count) {
  std::string text =
      fmt::format("{:.{}f} ± {:.{}f}", value.mean, decimals, value.deviation, decimals);
  if (value.count != usual_count) text += fmt::format(" (n = {})", value.count);
  return text;
}

/// Ranks by what a reader sees, so that equal numbers are equally good.
void rank_row(Table::Row& row) {
  std::set<double, std::greater<>> shown;
  const auto seen = [](const Table::Cell& cell) { return std::round(10 * cell.value.mean); };
  for (const auto& cell : row.cells) {
    if (cell && !cell->is_full) shown.insert(seen(*cell));
  }
  if (shown.size() < 2) return;
  for (auto& cell : row.cells) {
    if (!cell || cell->is_full) continue;
    const auto place = std::distance(shown.begin(), shown.find(seen(*cell)));
    cell->rank = place < 2 ? static_cast<int>(place) + 1 : 0;
  }
}

/// Makes the rows of a table; `make_cell(dataset, rate, column)` makes a cell, or none.
template <class MakeCell>
Table make_table(const StudyResults& results, const std::vector<Column>& columns,
                 MakeCell&& make_cell) {
  Table table;
  for (const Column& column : columns) table.columns.push_back(column.title);
  for (const std::string& dataset : results.datasets) {
    for (const double rate : results.rates_of(dataset)) {
      Table::Row row{dataset, rate, {}};
      for (const Column& column : columns) row.cells.push_back(make_cell(dataset, rate, column));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

/// The number of seeds that most cells have.
int seeds_of(const StudyResults& results) {
  std::set<std::uint64_t> seeds;
  for (const RunResult& run : results.runs) seeds.insert(run.summary.seed);
  return static_cast<int>(seeds.size());
}

std::string seconds_text(double seconds) {
  return seconds < 100 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

MeanAndDeviation cost_of(const Runs& runs) {
  std::vector<double> seconds;
  for (const RunResult* run : runs) seconds.push_back(run->summary.seconds.total());
  return mean_and_deviation_of(seconds);
}

/// Values of `ours` minus those of `theirs` with the same seed.
std::vector<double> paired_differences(const Runs& ours, const Runs& theirs, Metric metric) {
  std::vector<double> differences;
  for (const RunResult* run : ours) {
    const auto pair = std::ranges::find_if(
        theirs, [&](const RunResult* other) { return other->summary.seed == run->summary.seed; });
    if (pair != theirs.end()) {
      differences.push_back(percent_of(*run, metric) - percent_of(**pair, metric));
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

Table accuracy_table(const StudyResults& results, Metric metric) {
  const int seeds = seeds_of(results);
  Table table = make_table(results, columns_of(results),
                           [&](const std::string& dataset, double rate, const Column& column) {
                             std::optional<Table::Cell> cell;
                             const Runs runs = runs_of(results, dataset, rate, column);
                             if (runs.empty()) return cell;
                             std::vector<double> values;
                             for (const RunResult* run : runs)
                               values.push_back(percent_of(*run, metric));
                             const MeanAndDeviation found = mean_and_deviation_of(values);
                             cell = Table::Cell{.value = found,
                                                .text = with_deviation(found, 1, seeds),
                                                .is_full = is_full(*runs.front())};
                             return cell;
                           });
  for (Table::Row& row : table.rows) rank_row(row);
  table.title = fmt::format("Accuracy of the {}, %",
                            metric == Metric::Worst ? "worst group" : "average group");
  table.caption = fmt::format(
      "Mean ± population deviation over {}. Best pruned method of a row bold, second underlined; "
      "full trains on everything. {}",
      seeds_text(results), describe_groups(results));
  return table;
}

Table difference_table(const StudyResults& results, Metric metric) {
  std::vector<Column> columns = columns_of(results);
  const auto reference = find_reference(columns, results.reference);
  if (reference == columns.end()) return {};
  const Column compared_with = *reference;
  columns.erase(reference);
  const int seeds = seeds_of(results);
  Table table = make_table(
      results, columns, [&](const std::string& dataset, double rate, const Column& column) {
        std::optional<Table::Cell> cell;
        const auto values =
            paired_differences(runs_of(results, dataset, rate, column),
                               runs_of(results, dataset, rate, compared_with), metric);
        if (values.empty()) return cell;
        const MeanAndDeviation found = mean_and_deviation_of(values);
        std::string text = with_deviation(found, 1, seeds);
        if (found.mean > 0) text.insert(0, "+");
        cell = Table::Cell{.value = found, .text = text};
        return cell;
      });
  table.title =
      fmt::format("Difference to {} in {} accuracy, points", compared_with.title, name_of(metric));
  table.caption = fmt::format(
      "Mean ± population deviation of the differences between runs of the same seed, over {}; "
      "above "
      "0: better than {}.",
      seeds_text(results), compared_with.title);
  return table;
}

Table cost_table(const StudyResults& results) {
  const std::vector<Column> columns = columns_of(results);
  const auto find_full = [&](const std::string& dataset) {
    Runs runs;
    for (const RunResult& run : results.runs) {
      if (run.dataset == dataset && is_full(run)) runs.push_back(&run);
    }
    return runs;
  };
  Table table = make_table(
      results, columns, [&](const std::string& dataset, double rate, const Column& column) {
        std::optional<Table::Cell> cell;
        const Runs runs = runs_of(results, dataset, rate, column);
        if (runs.empty()) return cell;
        const MeanAndDeviation cost = cost_of(runs);
        std::string text = seconds_text(cost.mean);
        const Runs full = find_full(dataset);
        if (!full.empty() && !is_full(*runs.front())) {
          text += fmt::format(" ({:.1f}x)", cost_of(full).mean / cost.mean);
        }
        double scoring = 0;
        for (const RunResult* run : runs) scoring += run->summary.seconds.scoring;
        scoring /= static_cast<double>(runs.size());
        if (scoring > 0) text += fmt::format(", scoring {}", seconds_text(scoring));
        cell = Table::Cell{.value = cost, .text = text, .is_full = is_full(*runs.front())};
        return cell;
      });
  table.title = "Cost of a run";
  table.caption = fmt::format(
      "Seconds in all, mean over {}: setting up, the pass before training, selecting, training, "
      "evaluating, checkpoints, and the scoring run a method needs (told apart; in a study it is "
      "made once for all rates). In parentheses how many times cheaper than full.",
      seeds_text(results));
  return table;
}

void write_tables(const StudyResults& results, const std::filesystem::path& folder) {
  const std::pair<const char*, Table> tables[] = {
      {"worst_group", accuracy_table(results, Metric::Worst)},
      {"average_group", accuracy_table(results, Metric::Average)},
      {"worst_group_difference", difference_table(results, Metric::Worst)},
      {"average_group_difference", difference_table(results, Metric::Average)},
      {"cost", cost_table(results)},
  };
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
