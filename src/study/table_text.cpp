#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

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

std::string latex_text(const std::string& text) {
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

std::string samples_cell(const std::optional<Table::Cell>& cell, const SamplesLine& line) {
  if (!cell || !cell->samples) return samples_text(std::nullopt);
  return samples_text((*cell->samples).*line.value);
}

/// How a format writes names and cells.
struct Notation {
  std::string (*text)(const std::string&);
  std::string (*cell)(const std::optional<Table::Cell>&);
};

using Line = std::vector<std::string>;

/// A line for each method, a column for each data set and rate.
std::vector<Line> lines_by_method(const Table& table, const Notation& notation) {
  std::vector<Line> lines{{"method"}};
  for (const std::string& method : table.columns) lines.push_back({notation.text(method)});
  for (const Table::Row& row : table.rows) {
    lines.front().push_back(notation.text(fmt::format("{}, {}", row.dataset, percent(row))));
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      lines[i + 1].push_back(notation.cell(row.cells[i]));
    }
  }
  return lines;
}

/// The lines of a table, its head first.
std::vector<Line> lines_of(const Table& table, const Notation& notation) {
  if (is_wide(table)) return lines_by_method(table, notation);
  std::vector<Line> lines{{"data set", "pruned"}};
  std::ranges::transform(table.columns, std::back_inserter(lines.front()), notation.text);
  for (const Table::Row& row : table.rows) {
    Line& line = lines.emplace_back(Line{notation.text(row.dataset), notation.text(percent(row))});
    std::ranges::transform(row.cells, std::back_inserter(line), notation.cell);
    for (const SamplesLine& samples : SamplesLines) {
      Line& below = lines.emplace_back(Line{samples.title, ""});
      for (const auto& cell : row.cells) below.push_back(samples_cell(cell, samples));
    }
  }
  return lines;
}

/// With a space after each field that is not empty.
std::string joined(const Line& line, char separator) {
  std::string text;
  for (const std::string& field : line) {
    if (&field != &line.front()) text += fmt::format("{} ", separator);
    if (!field.empty()) text += field + ' ';
  }
  return text;
}

std::string note_below(const Table& table) {
  return is_wide(table) ? table.caption : fmt::format("{} {}", table.caption, SamplesNote);
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

}  // namespace

bool is_wide(const Table& table) {
  constexpr std::size_t MostColumns = 16;
  return table.columns.size() > MostColumns;
}

std::string samples_text(std::optional<double> samples) {
  if (!samples) return "-";
  std::string text = fmt::format("{:.0f}", *samples);
  for (std::size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

std::string to_markdown(const Table& table) {
  const Notation notation{markdown_text, markdown_cell};
  std::string text = fmt::format("## {}\n\n", table.title);
  const std::vector<Line> lines = lines_of(table, notation);
  for (const Line& line : lines) {
    text += fmt::format("| {}|\n", joined(line, '|'));
    if (&line != &lines.front()) continue;
    text += "| --- ";
    for (std::size_t i = 1; i < line.size(); ++i) text += "| ---: ";
    text += "|\n";
  }
  return text + fmt::format("\n{}\n", note_below(table));
}

std::string to_latex(const Table& table) {
  const Notation notation{latex_text, latex_cell};
  const std::vector<Line> lines = lines_of(table, notation);
  std::string text = "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n";
  text +=
      fmt::format("\\caption{{{}. {}}}\n", latex_text(table.title), latex_text(note_below(table)));
  text += fmt::format("\\begin{{tabular}}{{l{}}}\n\\toprule\n",
                      std::string(lines.front().size() - 1, 'r'));
  for (const Line& line : lines) {
    text += fmt::format("{}\\\\\n", joined(line, '&'));
    if (&line == &lines.front()) text += "\\midrule\n";
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
