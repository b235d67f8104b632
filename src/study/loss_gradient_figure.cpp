#include "study/loss_gradient_figure.hpp"

#include <fmt/format.h>

#include "study/rank_correlation.hpp"
#include "study/svg_chart.hpp"

namespace rcap {
namespace {

chart::Panel panel_of(std::span<const ExampleTrace> traces, const char* title,
                      std::vector<double> ExampleTrace::*values) {
  chart::Panel panel;
  panel.title = title;
  panel.x.title = "epochs trained";
  panel.y.scale = chart::Scale::Log;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    chart::Series series{.look = i, .thin = true};
    for (const double value : traces[i].*values) {
      series.points.push_back({.x = static_cast<double>(series.points.size()), .y = value});
    }
    panel.series.push_back(std::move(series));
  }
  return panel;
}

}  // namespace

std::string correlation_text(const ExampleTrace& trace) {
  const auto correlation = spearman_correlation(trace.losses, trace.gradient_norms);
  return correlation ? fmt::format("{:.3f}", *correlation) : "n/a";
}

std::string loss_gradient_figure(std::span<const ExampleTrace> traces) {
  chart::Chart chart;
  chart.title = "Loss and gradient norm of single examples";
  chart.description =
      "Loss and gradient norm of ten examples of a toy data set while a small network trains; the "
      "closer Spearman's correlation is to 1, the more they rise and fall together.";
  chart::Section section{.plot_height = 300};
  section.panels = {panel_of(traces, "Loss", &ExampleTrace::losses),
                    panel_of(traces, "Gradient norm", &ExampleTrace::gradient_norms)};
  chart.sections.push_back(std::move(section));
  for (std::size_t i = 0; i < traces.size(); ++i) {
    chart.legend.push_back(
        {fmt::format("example {}: {}", traces[i].example, correlation_text(traces[i])), i});
  }
  chart.note = "The numbers are Spearman's correlation of loss and gradient norm.";
  return draw_chart(chart);
}

std::string loss_gradient_csv(std::span<const ExampleTrace> traces) {
  std::string csv = "epoch,example,class,loss,gradient_norm\n";
  for (const ExampleTrace& trace : traces) {
    for (std::size_t epoch = 0; epoch < trace.losses.size(); ++epoch) {
      csv += fmt::format("{},{},{},{},{}\n", epoch, trace.example, trace.label, trace.losses[epoch],
                         trace.gradient_norms[epoch]);
    }
  }
  return csv;
}

}  // namespace rcap
