#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "study/results.hpp"

namespace rcap {

/// Mean and population deviation over seeds, as in the paper.
struct MeanAndDeviation {
  int count = 0;
  double mean = 0;
  double deviation = 0;
};

/// @throws InvalidArgument  no values
[[nodiscard]] MeanAndDeviation mean_and_deviation_of(const std::vector<double>& values);

/// Over what `value` returns for the summaries of the runs.
template <class Value>
[[nodiscard]] MeanAndDeviation over_runs(const Runs& runs, Value value) {
  std::vector<double> values;
  for (const RunResult* run : runs) values.push_back(value(run->summary));
  return mean_and_deviation_of(values);
}

/// Total seconds of a run, including its scoring run.
[[nodiscard]] MeanAndDeviation seconds_of(const Runs& runs);

/// Samples of a run, mean over runs.
struct MeanSamples {
  double trained = 0;  ///< forward and backward, including its scoring run
  double forward = 0;  ///< forward only
};

/// Empty if a run did not count them.
[[nodiscard]] std::optional<MeanSamples> samples_of(const Runs& runs);

/// "1,234,567", rounded; a dash for nothing.
[[nodiscard]] std::string samples_text(std::optional<double> samples);

/// "3 seeds (0, 27, 100)".
[[nodiscard]] std::string seeds_text(const StudyResults& results);

/// Numbers of a study: a row for each data set and pruning rate, a column for each method. As text,
/// below each row are the samples that it took, which show whether methods were compared at equal
/// cost.
struct Table {
  struct Cell {
    MeanAndDeviation value;
    std::string text;                         ///< "55.1 ± 1.2", in the notation of Markdown
    int rank = 0;                             ///< 1 best, 2 second best in its row; 0: neither
    bool has_rate = true;                     ///< otherwise it is not ranked
    std::optional<MeanSamples> samples = {};  ///< what it took
  };
  struct Row {
    std::string dataset;
    double pruning_rate = 0;
    std::vector<std::optional<Cell>> cells;  ///< one per entry of `columns`; empty: no run
  };

  std::string title;
  std::string caption;
  std::vector<std::string> columns;
  std::vector<Row> rows;
};

enum class Metric { Worst, Average };

/// Whose accuracy it is: the network's own answers, or those with the prior of what was trained
/// taken out.
enum class Answers { Plain, PriorAdjusted };

/// Accuracies in percent; prior-adjusted ones only of runs that have them, without rows if none
/// has. The best method of a row has rank 1, the next one 2, equal ones share a rank; if all are
/// equal there is no rank.
[[nodiscard]] Table accuracy_table(const StudyResults& results, Metric metric,
                                   Answers answers = Answers::Plain);

/// How far each method's accuracy is above that of `results.reference`, in points, seed by seed.
/// Without rows if there is no reference.
[[nodiscard]] Table difference_table(const StudyResults& results, Metric metric);

/// Seconds of a run, including scoring runs, and how many times faster than "full" it is.
[[nodiscard]] Table cost_table(const StudyResults& results);

/// Samples that went forward and backward, and those that went forward only.
[[nodiscard]] Table samples_table(const StudyResults& results);

/// Whether it has so many methods that each is better a line: a page has no room for that many
/// columns. Samples are then a table of their own.
[[nodiscard]] bool is_wide(const Table& table);

[[nodiscard]] std::string to_markdown(const Table& table);
[[nodiscard]] std::string to_latex(const Table& table);
/// One line per cell, with all digits.
[[nodiscard]] std::string to_csv(const Table& table);

/// Writes every table as `table_NAME.md`, `.tex` and `.csv`, and all of them as `tables.md`.
void write_tables(const StudyResults& results, const std::filesystem::path& folder);

}  // namespace rcap
