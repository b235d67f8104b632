#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/quoting.hpp"
#include "study/tables.hpp"

namespace rcap {
namespace {

std::string markdown_text(const std::string& text) { return replaced(text, "|", "\\|"); }

std::string percent(const Table::Row& row) { return fmt::format("{:g} %", 100 * row.pruning_rate); }

std::string markdown_cell(const std::optional<Table::Cell>& cell) {
  if (!cell) return "-";
  if (cell->rank == 1) return fmt::format("**{}**", cell->text);
  // Markdown has no underline, but every viewer of it knows this tag.
  if (cell->rank == 2) return fmt::format("<u>{}</u>", cell->text);
  return cell->text;
}

std::string latex_text(std::string_view text) {
  constexpr std::string_view Special = "&%$#_{}";
  std::string result;
  for (const char c : text) {
    if (Special.find(c) != std::string_view::npos) result += '\\';
    result += c == '\\'  ? "\\textbackslash{}"
              : c == '~' ? "\\textasciitilde{}"
              : c == '^' ? "\\textasciicircum{}"
                         : std::string(1, c);
  }
  return replaced(result, "±", "$\\pm$");
}

std::string latex_cell(const std::optional<Table::Cell>& cell) {
  if (!cell) return "--";
  const std::string text = latex_text(cell->text);
  if (cell->rank == 1) return fmt::format("\\textbf{{{}}}", text);
  if (cell->rank == 2) return fmt::format("\\underline{{{}}}", text);
  return text;
}

/// A line below each row of a table.
struct SamplesLine {
  const char* title;
  double MeanSamples::*value;
};
constexpr SamplesLine SamplesLines[] = {{"samples trained on", &MeanSamples::trained},
                                        {"samples forward only", &MeanSamples::forward}};
constexpr const char* SamplesNote =
    "Below each row is what it took, mean over seeds: samples that went forward and backward in "
    "all epochs, including those of a scoring run, and samples that went forward only. Evaluations "
    "do not count.";

std::optional<double> value_of(const std::optional<Table::Cell>& cell, const SamplesLine& line) {
  if (!cell || !cell->samples) return std::nullopt;
  return (*cell->samples).*line.value;
}

std::string csv_samples(const Table::Cell& cell) {
  if (!cell.samples) return ",";
  return fmt::format("{},{}", cell.samples->trained, cell.samples->forward);
}

/// A field of CSV: in quotes if necessary.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  return fmt::format("\"{}\"", replaced(text, "\"", "\"\""));
}

template <class Range, class Text>
std::string joined(const Range& range, std::string_view separator, Text&& text) {
  std::string result;
  for (const auto& entry : range) {
    if (!result.empty()) result += separator;
    result += text(entry);
  }
  return result;
}

}  // namespace

std::string samples_text(std::optional<double> samples) {
  if (!samples) return "-";
  std::string text = fmt::format("{:.0f}", *samples);
  for (std::size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

std::string to_markdown(const Table& table) {
  std::string text = fmt::format("## {}\n\n", table.title);
  text += fmt::format("| data set | pruned | {} |\n| --- | ---: ",
                      joined(table.columns, " | ", markdown_text));
  for (std::size_t i = 0; i < table.columns.size(); ++i) text += "| ---: ";
  text += "|\n";
  for (const Table::Row& row : table.rows) {
    text += fmt::format("| {} | {} | {} |\n", markdown_text(row.dataset), percent(row),
                        joined(row.cells, " | ", markdown_cell));
    for (const SamplesLine& line : SamplesLines) {
      text += fmt::format("| {} | | {} |\n", line.title, joined(row.cells, " | ", [&](auto& cell) {
                            return samples_text(value_of(cell, line));
                          }));
    }
  }
  return text + fmt::format("\n{} {}\n", table.caption, SamplesNote);
}

std::string to_latex(const Table& table) {
  std::string text = "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n";
  text += fmt::format("\\caption{{{}. {} {}}}\n", latex_text(table.title),
                      latex_text(table.caption), SamplesNote);
  text += fmt::format("\\begin{{tabular}}{{lr{}}}\n\\toprule\n",
                      std::string(table.columns.size(), 'r'));
  text += fmt::format("data set & pruned & {} \\\\\n\\midrule\n",
                      joined(table.columns, " & ", latex_text));
  for (const Table::Row& row : table.rows) {
    text += fmt::format("{} & {} & {} \\\\\n", latex_text(row.dataset), latex_text(percent(row)),
                        joined(row.cells, " & ", latex_cell));
    for (const SamplesLine& line : SamplesLines) {
      text += fmt::format("{} & & {} \\\\\n", line.title, joined(row.cells, " & ", [&](auto& cell) {
                            return samples_text(value_of(cell, line));
                          }));
    }
  }
  return text + "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
}

std::string to_csv(const Table& table) {
  std::string text =
      "data_set,pruning_rate,method,n,mean,deviation,trained_samples,forward_samples\n";
  for (const Table::Row& row : table.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (!row.cells[i]) continue;
      const MeanAndDeviation& found = row.cells[i]->value;
      text += fmt::format("{},{},{},{},{},{},{}\n", csv_field(row.dataset), row.pruning_rate,
                          csv_field(table.columns[i]), found.count, found.mean, found.deviation,
                          csv_samples(*row.cells[i]));
    }
  }
  return text;
}

}  // namespace rcap
