#include "study/svg_chart.hpp"

#include <cmath>
#include <set>

#include <gmock/gmock.h>

namespace rcap::chart {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// One panel with one line.
Chart chart_of(std::vector<Point> points, Scale y_scale = Scale::Linear) {
  Panel panel;
  panel.y.scale = y_scale;
  panel.series.push_back({.points = std::move(points)});
  Section section;
  section.panels = {panel};
  Chart chart;
  chart.sections = {section};
  return chart;
}

TEST(Ticks, AreRoundAndFewOnALinearAxis) {
  EXPECT_THAT(ticks_of(Scale::Linear, {0, 100}, 6), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(ticks_of(Scale::Linear, {0, 100}, 5), ElementsAre(0, 50, 100));
  EXPECT_THAT(ticks_of(Scale::Linear, {-0.1, 0.35}, 5), ElementsAre(-0.1, 0, 0.1, 0.2, 0.3));
  EXPECT_THAT(ticks_of(Scale::Linear, {81.2, 83.9}, 3), ElementsAre(82, 83));
}

TEST(Ticks, GoByDecadesOnALogarithmicAxis) {
  EXPECT_THAT(ticks_of(Scale::Log, {1, 100}, 7), ElementsAre(1, 2, 5, 10, 20, 50, 100));
  EXPECT_THAT(ticks_of(Scale::Log, {1, 100}, 5), ElementsAre(1, 3, 10, 30, 100));
  EXPECT_THAT(ticks_of(Scale::Log, {1, 100}, 3), ElementsAre(1, 10, 100));
  EXPECT_THAT(ticks_of(Scale::Log, {1e-9, 1}, 5),
              ElementsAre(DoubleEq(1e-8), DoubleEq(1e-6), DoubleEq(1e-4), DoubleEq(1e-2), 1));
}

TEST(Ticks, AreLinearOnAShortLogarithmicAxis) {
  EXPECT_THAT(ticks_of(Scale::Log, {42, 68}, 4), ElementsAre(50, 60));
}

TEST(Ticks, HaveShortLabels) {
  const std::vector<std::pair<double, std::string>> labels{
      {0, "0"},       {-0.0, "0"},     {0.25, "0.25"}, {1.0 / 3, "0.3333"}, {2000, "2000"},
      {10000, "10k"}, {2.5e6, "2.5M"}, {1e-5, "1e-5"}, {-20, "-20"},        {0.001, "0.001"}};
  for (const auto& [value, label] : labels) EXPECT_EQ(tick_label(value), label);
}

TEST(AxisRange, LeavesRoomButKeepsItsLimits) {
  const Axis percent{.least = 0, .most = 100};
  const auto range = range_of(percent, {1, 51});
  EXPECT_EQ(range->low, 0);           // 1 - 0.06 * 50 would be below
  EXPECT_DOUBLE_EQ(range->high, 54);  // 51 + 0.06 * 50
}

TEST(AxisRange, PassesOverWhatHasNoPlace) {
  const Axis axis{.scale = Scale::Log};
  EXPECT_FALSE(range_of(axis, {0, -1, std::nan("")}));
  const auto range = range_of(axis, {0, 10});
  EXPECT_DOUBLE_EQ(range->low, 5);  // a single value: a factor of 2 on both sides
  EXPECT_DOUBLE_EQ(range->high, 20);
}

TEST(AxisRange, PutsTheGeometricMeanInTheMiddleOfALogarithmicAxis) {
  EXPECT_DOUBLE_EQ(place_of(Scale::Log, {1, 100}, 10), 0.5);
  EXPECT_DOUBLE_EQ(place_of(Scale::Linear, {1, 100}, 50.5), 0.5);
}

TEST(ChartText, IsEscaped) {
  EXPECT_EQ(escaped("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
  EXPECT_EQ(escaped("é\n\x01"), "é??");
  EXPECT_EQ(escaped("\xff!"), "?!");
}

TEST(ChartText, IsShortenedByCharactersNotByBytes) {
  EXPECT_EQ(shortened("ééé", 3), "ééé");
  EXPECT_EQ(shortened("éééé", 3), "éé…");
}

TEST(Looks, DifferInMarkerAndNeverInColourAlone) {
  std::set<std::string> markers;
  for (Look look = 0; look < 13; ++look) markers.insert(marker(look, 0, 0, 5));
  EXPECT_EQ(markers.size(), 13U);
  // Two looks of one marker have another dash.
  EXPECT_EQ(marker(1, 0, 0, 5), marker(14, 0, 0, 5));
  EXPECT_NE(dash_of(1), dash_of(14));
}

TEST(Looks, KeepTheFirstColourForTheFirst) {
  for (Look look = 1; look < 20; ++look) EXPECT_NE(colour_class(look), colour_class(0));
}

TEST(DrawChart, EscapesNamesAndDescribesItself) {
  Chart chart = chart_of({{.x = 1, .y = 1}});
  chart.title = "A & B";
  chart.description = "1 < 2";
  chart.legend = {{"<rcap>"}};
  const std::string svg = draw_chart(chart);
  EXPECT_THAT(svg, HasSubstr("<title>A &amp; B</title>"));
  EXPECT_THAT(svg, HasSubstr("<desc>1 &lt; 2</desc>"));
  EXPECT_THAT(svg, HasSubstr("&lt;rcap&gt;"));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
}

TEST(DrawChart, InterruptsALineWhereAPointHasNoPlace) {
  const std::string whole = draw_chart(
      chart_of({{.x = 0, .y = 1}, {.x = 1, .y = 2}, {.x = 2, .y = 3}, {.x = 3, .y = 4}}));
  const std::string broken = draw_chart(chart_of(
      {{.x = 0, .y = 1}, {.x = 1, .y = 0}, {.x = 2, .y = 3}, {.x = 3, .y = 4}}, Scale::Log));
  const auto line_of = [](const std::string& svg) {
    const std::size_t at = svg.find(" d=\"", svg.find("class=\"line\""));
    return svg.substr(at, svg.find('>', at) - at);
  };
  EXPECT_EQ(count_of(line_of(whole), "M"), 1U);
  EXPECT_EQ(count_of(line_of(broken), "M"), 2U);
  EXPECT_THAT(broken, Not(HasSubstr("nan")));
  EXPECT_THAT(broken, Not(HasSubstr("inf")));
}

TEST(DrawChart, MarksTheLastPointOfALongLine) {
  Point last{.x = 99, .y = 1};
  last.note = "the end";
  std::vector<Point> points;
  for (int i = 0; i < 99; ++i) points.push_back({.x = static_cast<double>(i), .y = 1});
  points.push_back(last);
  const std::string svg = draw_chart(chart_of(points));
  EXPECT_THAT(svg, HasSubstr("<title>the end</title>"));
  EXPECT_EQ(count_of(svg, "class=\"dot\""), 7U);  // every 15th of 100
}

TEST(DrawChart, GivesTheSameBytesForTheSameChart) {
  const Chart chart = chart_of({{.x = 0.1, .y = 1.0 / 3}, {.x = 0.2, .y = 2}});
  EXPECT_EQ(draw_chart(chart), draw_chart(chart));
}

TEST(DrawChart, LeavesOutPanelsWithoutPoints) {
  EXPECT_THAT(draw_chart(chart_of({})), Not(HasSubstr("class=\"frame\" x")));
  EXPECT_THAT(draw_chart(chart_of({{.x = 1, .y = 1}})), HasSubstr("class=\"frame\" x"));
}

}  // namespace
}  // namespace rcap::chart
