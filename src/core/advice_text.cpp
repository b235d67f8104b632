// The advice as a person reads it in a terminal.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/formatted.hpp"
#include "base/number_text.hpp"
#include "rcap/core/advise.hpp"
#include "rcap/core/run_cost.hpp"

namespace rcap {
namespace {

constexpr std::size_t MostClassesShown = 10;
constexpr std::size_t ShownAtAnEnd = 4;  // of more classes than that
constexpr std::size_t LineWidth = 100;

using Cells = std::vector<std::string>;

/// Columns flush right, two spaces between them.
std::string draw_table(const std::vector<Cells>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text.append(widths[i] - row[i].size() + (i == 0 ? 0 : 2), ' ') += row[i];
    }
    text += '\n';
  }
  return text;
}

/// Breaks a sentence into lines: the first begins with `bullet`, the others as far in.
std::string wrap(std::string_view bullet, std::string_view sentence) {
  std::string text(bullet);
  std::size_t column = bullet.size();
  for (std::size_t begin = 0; begin < sentence.size();) {
    const std::size_t end = std::min(sentence.find(' ', begin), sentence.size());
    const bool first = column == bullet.size();
    if (!first && column + 1 + end - begin > LineWidth) {
      text.append(1, '\n').append(bullet.size(), ' ');
      column = bullet.size();
    } else if (!first) {
      text += ' ';
      ++column;
    }
    text += sentence.substr(begin, end - begin);
    column += end - begin;
    begin = end + 1;
  }
  return text + '\n';
}

/// The classes of a table: all that have samples, or the largest and the smallest of them.
struct ShownClasses {
  std::vector<std::size_t> classes;  ///< from the largest to the smallest
  std::size_t left_out = 0;          ///< in their middle
};

ShownClasses classes_to_show(const Advice& advice) {
  std::vector<std::size_t> order(advice.class_sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t j) { return advice.class_sizes[j] == 0; });
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t j) { return advice.class_sizes[j]; });
  if (order.size() <= MostClassesShown) return {order, 0};
  const std::size_t left_out = order.size() - 2 * ShownAtAnEnd;
  const auto middle = order.begin() + ShownAtAnEnd;
  order.erase(middle, middle + static_cast<std::ptrdiff_t>(left_out));
  return {order, left_out};
}

/// Puts a line into the middle of a table's text where classes were left out of it.
void tell_left_out(const ShownClasses& shown, std::string& table) {
  if (shown.left_out == 0) return;
  std::size_t at = 0;
  for (std::size_t line = 0; line <= ShownAtAnEnd; ++line) at = table.find('\n', at) + 1;
  const auto count = static_cast<std::int64_t>(shown.left_out);
  table.insert(at, formatted("  ... and {} classes in between\n", with_commas(count)));
}

std::string class_text(const Advice& advice) {
  const auto size_of = [&](ClassId j) {
    return with_commas(advice.class_sizes[static_cast<std::size_t>(j)]);
  };
  const std::string samples = with_commas(advice.sample_count);
  if (advice.filled_class_count == 1) return formatted("{} samples in one class.\n", samples);
  std::string text = formatted(
      "{} samples in {} classes: class {} has {}, class {} has {}; imbalance {}.\n", samples,
      with_commas(advice.filled_class_count), advice.largest_class, size_of(advice.largest_class),
      advice.smallest_class, size_of(advice.smallest_class), as_factor(advice.imbalance));
  if (advice.losses) {
    text += formatted("Mean loss {}; class means from {} (class {}) to {} (class {}).\n",
                      with_digits(advice.losses->mean, 3), with_digits(advice.losses->lowest, 3),
                      advice.losses->lowest_class, with_digits(advice.losses->highest, 3),
                      advice.losses->highest_class);
  }
  return text;
}

std::string counts_of(const Advice& advice, const RateAdvice& rate) {
  const ShownClasses shown = classes_to_show(advice);
  std::vector<Cells> rows{{"class", "samples"}};
  for (const RuleOutcome& outcome : rate.rules) rows.front().emplace_back(outcome.rule);
  for (const std::size_t j : shown.classes) {
    Cells& row = rows.emplace_back();
    row = {std::to_string(j), with_commas(advice.class_sizes[j])};
    for (const RuleOutcome& outcome : rate.rules) {
      row.push_back(with_commas(outcome.class_counts[j]));
    }
  }
  std::string table = draw_table(rows);
  tell_left_out(shown, table);
  std::string text = formatted("\n{} pruned: an epoch keeps {}\n", as_percent(rate.pruning_rate),
                               with_commas(rate.keep_count));
  if (!rate.remark.empty()) text += wrap("note: ", rate.remark);
  return text + table;
}

std::string counts_text(const Advice& advice) {
  std::string text = wrap(
      "",
      formatted("What each rule keeps of each class, counted in real selections. This is the split "
                "of the first epoch, with {}; later epochs follow the training losses. rs2 draws "
                "at random, here with seed {}.{}",
                advice.losses ? "the losses given" : "equal losses", advice.options.seed,
                advice.losses ? "" : " With equal losses rcap, rcap mass and rcap group agree."));
  for (const RateAdvice& rate : advice.rates) text += counts_of(advice, rate);
  return text;
}

std::string evaluation_text(const AdviseOptions& options) {
  if (options.test_samples == 0)
    return "evaluations are not counted, because no test samples were given";
  return formatted("{} evaluations of {} samples",
                   evaluation_count(options.epochs, options.evaluate_every),
                   with_commas(options.test_samples));
}

std::string speed_text(const Advice& advice) {
  std::vector<Cells> rows{{"pruned"}};
  for (const AdvisedRule& rule : advised_rules()) rows.front().emplace_back(rule.name);
  for (const RateAdvice& rate : advice.rates) {
    Cells& row = rows.emplace_back(Cells{as_percent(rate.pruning_rate)});
    for (const RuleOutcome& outcome : rate.rules) {
      row.push_back(with_decimals(outcome.speed_up, 2) + "x");
    }
  }
  return wrap("", formatted("How many times less work a run does than training on everything: an "
                            "estimate in samples, not a measurement of seconds. {} epochs; a "
                            "forward pass counts 1, training on a sample {}; paper, mass and group "
                            "make a pass before training; {}.",
                            advice.options.epochs, with_digits(1 / ForwardPart, 3),
                            evaluation_text(advice.options))) +
         "\n" + draw_table(rows);
}

/// "########............"
std::string bar_of(double part) {
  constexpr std::size_t Width = 20;
  // Whatever is kept shows, and whatever is left out.
  auto filled = static_cast<std::size_t>(std::lround(part * static_cast<double>(Width)));
  if (part > 0) filled = std::max<std::size_t>(filled, 1);
  if (part < 1) filled = std::min(filled, Width - 1);
  return std::string(filled, '#') + std::string(Width - filled, '.');
}

/// The part of each class that is kept, by a random draw and by the suggested rule.
std::string bars_text(const Advice& advice) {
  const Suggestion& suggestion = advice.suggestion;
  if (suggestion.verdict == Verdict::Hardly) return {};
  const RateAdvice& rate =
      *std::ranges::find(advice.rates, suggestion.pruning_rate, &RateAdvice::pruning_rate);
  const ShownClasses shown = classes_to_show(advice);
  std::vector<Cells> rows{{"class", "samples", "", "rs2", "", suggestion.rule}};
  for (const std::size_t j : shown.classes) {
    Cells& row = rows.emplace_back();
    row = {std::to_string(j), with_commas(advice.class_sizes[j])};
    for (const std::string_view rule :
         {std::string_view("rs2"), std::string_view(suggestion.rule)}) {
      const RuleOutcome& outcome = *std::ranges::find(rate.rules, rule, &RuleOutcome::rule);
      const double part =
          static_cast<double>(outcome.class_counts[j]) / static_cast<double>(advice.class_sizes[j]);
      row.push_back(bar_of(part));
      row.push_back(with_decimals(100 * part, 0) + " %");
    }
  }
  std::string table = draw_table(rows);
  tell_left_out(shown, table);
  return formatted("\nPart of each class kept at {}, at random and by {}\n",
                   as_percent(suggestion.pruning_rate), suggestion.rule) +
         table;
}

std::string price_text(const Suggestion& suggestion) {
  if (suggestion.verdict == Verdict::Likely) return "Likely.";
  if (!suggestion.points_lost) return "At a price that no study has measured.";
  return formatted("At a price: similar data lost up to {} points in the studies.",
                   with_decimals(*suggestion.points_lost, 1));
}

std::string verdict_text(const Suggestion& suggestion) {
  if (suggestion.verdict == Verdict::Hardly) {
    return "Will it help? Hardly. Train on everything.\n";
  }
  return formatted(
      "Will it help? {} Try {} at {}, about {} times less work.\n"
      "  rcap.RCAP(labels, pruning_rate={}{})\n"
      "  --method rcap --pruning-rate {}{}\n",
      price_text(suggestion), suggestion.rule, as_percent(suggestion.pruning_rate),
      with_decimals(suggestion.speed_up, 1), suggestion.pruning_rate,
      suggestion.auto_beta ? ", beta=\"auto\"" : "", suggestion.pruning_rate,
      suggestion.auto_beta ? " --beta auto" : "");
}

std::string reason_text(const Reason& reason) {
  const std::string_view kind = reason.basis == Basis::Study ? "measured" : "computed";
  return wrap("  - ", formatted("[{}: {}] {}", kind, reason.source, reason.text));
}

}  // namespace

std::string describe(const Advice& advice) {
  std::string text = class_text(advice) + "\n" + counts_text(advice) + "\n" + speed_text(advice) +
                     bars_text(advice) + "\n" + verdict_text(advice.suggestion);
  for (const Reason& reason : advice.suggestion.reasons) text += reason_text(reason);
  return text;
}

}  // namespace rcap
