#include "study/advice_figure.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "study/run_groups.hpp"
#include "study/svg_chart.hpp"

namespace rcap {
namespace {

constexpr std::size_t MostPlaces = 40;   // that fit along the axis of a panel
constexpr double HeightOfNothing = 0.5;  // of 0 samples on a logarithmic axis

/// A class and its rank by size: 1 is the largest.
struct RankedClass {
  std::size_t class_id;
  std::size_t rank;
};

std::vector<RankedClass> classes_to_draw(const Advice& advice) {
  std::vector<std::size_t> order(advice.class_sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t j) { return advice.class_sizes[j] == 0; });
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t j) { return advice.class_sizes[j]; });
  std::vector<RankedClass> drawn;
  const std::size_t places = std::min(order.size(), MostPlaces);
  for (std::size_t i = 0; i < places; ++i) {
    const std::size_t at = places == 1 ? 0 : i * (order.size() - 1) / (places - 1);
    drawn.push_back({order[at], at + 1});
  }
  return drawn;
}

chart::Series series_of(const std::vector<RankedClass>& classes,
                        const std::vector<std::int64_t>& counts, chart::Look look) {
  chart::Series series{.look = look, .thin = true};
  for (const RankedClass& ranked : classes) {
    const auto count = static_cast<double>(counts[ranked.class_id]);
    series.points.push_back({.x = static_cast<double>(ranked.rank),
                             .y = std::max(count, HeightOfNothing),
                             .radius = 4.5});
  }
  return series;
}

chart::Panel panel_of_rate(const Advice& advice, const RateAdvice& rate,
                           const std::vector<RankedClass>& classes) {
  chart::Panel panel;
  panel.title = pruned_text(rate.pruning_rate);
  panel.x.title = "class, by size";
  panel.y.scale = chart::Scale::Log;
  panel.series.push_back(series_of(classes, advice.class_sizes, chart::NeutralLook));
  panel.series.back().markers = false;
  for (std::size_t i = 0; i < rate.rules.size(); ++i) {
    panel.series.push_back(series_of(classes, rate.rules[i].class_counts, i));
  }
  // On top of the lines that coincide with it.
  const auto place = std::ranges::find(rate.rules, "rcap", &RuleOutcome::rule) - rate.rules.begin();
  const auto rcap = panel.series.begin() + 1 + place;
  std::rotate(rcap, rcap + 1, panel.series.end());
  return panel;
}

bool keeps_nothing_of_a_class(const Advice& advice) {
  for (const RateAdvice& rate : advice.rates) {
    for (const RuleOutcome& outcome : rate.rules) {
      for (std::size_t j = 0; j < outcome.class_counts.size(); ++j) {
        if (outcome.class_counts[j] == 0 && advice.class_sizes[j] > 0) return true;
      }
    }
  }
  return false;
}

}  // namespace

std::string advice_figure(const Advice& advice) {
  const std::vector<RankedClass> classes = classes_to_draw(advice);
  chart::Chart chart;
  chart.title = "Samples of each class in the first epoch";
  chart.description =
      "How many samples of each class every rule would keep in the first epoch, from the largest "
      "class to the smallest, with a panel for each pruning rate.";
  chart::Section section{.plot_height = 250, .same_y = true};
  const std::size_t rates = advice.rates.size();
  section.columns = rates == 1 || rates == 2 || rates == 4 ? std::min<std::size_t>(rates, 2) : 3;
  for (const RateAdvice& rate : advice.rates) {
    section.panels.push_back(panel_of_rate(advice, rate, classes));
  }
  chart.sections.push_back(std::move(section));
  chart.legend.push_back(
      {.name = "all samples", .look = chart::NeutralLook, .line = true, .marker = false});
  for (std::size_t i = 0; i < advised_rules().size(); ++i) {
    chart.legend.push_back({.name = std::string(advised_rules()[i].name), .look = i});
  }
  chart.note = fmt::format(
      "Classes from the largest to the smallest. Made with {}; later epochs follow the training "
      "losses.",
      advice.losses ? "the losses given"
                    : "equal losses, where rcap, rcap mass and rcap group agree");
  if (keeps_nothing_of_a_class(advice)) chart.note += " 0 samples are drawn as 0.5.";
  return draw_chart(chart);
}

}  // namespace rcap
