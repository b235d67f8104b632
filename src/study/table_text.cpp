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
  // Markdown knows no underline; every viewer of it knows this tag.
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

/// A field of CSV: in quotes where it has to be.
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

std::string to_markdown(const Table& table) {
  std::string text = fmt::format("## {}\n\n", table.title);
  text += fmt::format("| data set | pruned | {} |\n| --- | ---: ",
                      joined(table.columns, " | ", markdown_text));
  for (std::size_t i = 0; i < table.columns.size(); ++i) text += "| ---: ";
  text += "|\n";
  for (const Table::Row& row : table.rows) {
    text += fmt::format("| {} | {} | {} |\n", markdown_text(row.dataset), percent(row),
                        joined(row.cells, " | ", markdown_cell));
  }
  return text + fmt::format("\n{}\n", table.caption);
}

std::string to_latex(const Table& table) {
  std::string text = "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n";
  text += fmt::format("\\caption{{{}. {}}}\n", latex_text(table.title), latex_text(table.caption));
  text += fmt::format("\\begin{{tabular}}{{lr{}}}\n\\toprule\n",
                      std::string(table.columns.size(), 'r'));
  text += fmt::format("data set & pruned & {} \\\\\n\\midrule\n",
                      joined(table.columns, " & ", latex_text));
  for (const Table::Row& row : table.rows) {
    text += fmt::format("{} & {} & {} \\\\\n", latex_text(row.dataset), latex_text(percent(row)),
                        joined(row.cells, " & ", latex_cell));
  }
  return text + "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
}

std::string to_csv(const Table& table) {
  std::string text = "data_set,pruning_rate,method,n,mean,deviation\n";
  for (const Table::Row& row : table.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (!row.cells[i]) continue;
      const MeanAndDeviation& found = row.cells[i]->value;
      text += fmt::format("{},{},{},{},{},{}\n", csv_field(row.dataset), row.pruning_rate,
                          csv_field(table.columns[i]), found.count, found.mean, found.deviation);
    }
  }
  return text;
}

}  // namespace rcap
