#include "study/chart_look.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "base/utf8.hpp"

namespace rcap::chart {
namespace {

/// Okabe and Ito's blue, vermilion, green, purple, orange, sky blue and yellow, darkened on
/// white or lightened on black if they would be hard to see.
struct Colour {
  const char* on_light;
  const char* on_dark;
};
constexpr std::array<Colour, 7> Colours{{{"#0062a3", "#2f8fd0"},
                                         {"#d55e00", "#e8731a"},
                                         {"#009e73", "#16b88a"},
                                         {"#c4649a", "#d98cb8"},
                                         {"#cc8a00", "#e69f00"},
                                         {"#3fa2dd", "#7cc4f0"},
                                         {"#7d7400", "#e5d93f"}}};
constexpr std::array Dashes{"", "10 4", "2.5 4", "12 4 2.5 4"};

// The page has its own background, so that text and background always belong to the same scheme.
constexpr const char* FixedStyle = R"(
text{font:18px system-ui,sans-serif;fill:#1f2328}
.small{font-size:17px}.title{font-size:20px;font-weight:600}.head{font-weight:600}
.soft{fill:#57606a}.page{fill:#fff}.grid{stroke:#d8dee4}.frame{fill:none;stroke:#8c959f}
.line{fill:none;stroke:currentColor;stroke-width:2.5;stroke-linejoin:round}
.thin{stroke-width:1.6}.bar{stroke:currentColor;stroke-width:1.5;opacity:.6}
.band{fill:currentColor;opacity:.13}
.dot{fill:currentColor;stroke:#fff;stroke-width:1}
.open{fill:#fff;stroke:currentColor;stroke-width:2.2}
.mark{fill:none;stroke:currentColor;stroke-width:2.6}
.neutral{color:#1f2328}.faint{color:#8c959f}.faint .line{stroke-width:1;opacity:.45}
.front{color:#8c959f}.front .line{stroke-width:6;opacity:.4}
)";
constexpr const char* FixedDarkStyle = R"(text{fill:#e6edf3}
.soft{fill:#9da7b3}.page{fill:#0d1117}.grid{stroke:#2a3038}.frame{stroke:#6e7681}
.dot{stroke:#0d1117}.open{fill:#0d1117}.neutral{color:#e6edf3}.faint{color:#8b949e}
)";

/// Shapes of about the same area.
struct Marker {
  std::string_view kind;  ///< its class: "dot", "open", or "mark" of strokes through the centre
  int corners = 0;        ///< or strokes; 0: a circle
  double angle = 0;       ///< of the first of them, in turns from the top
  double size = 1;        ///< over the radius of the circle
};
constexpr Marker Star{"mark", 3, 0, 1.2};
constexpr std::array<Marker, 13> Markers{{{"dot"},
                                          {"dot", 4, 0.125, 1.25},  // a square
                                          {"dot", 3, 0, 1.4},       // a triangle
                                          {"dot", 4, 0, 1.35},      // a diamond
                                          {"mark", 2, 0.125, 1.2},  // a cross
                                          {"dot", 3, 0.5, 1.4},     // a triangle on its tip
                                          {"open"},
                                          {"open", 4, 0.125, 1.25},
                                          {"mark", 2, 0, 1.2},  // a plus
                                          {"open", 3, 0, 1.4},
                                          {"open", 4, 0, 1.35},
                                          {"open", 3, 0.5, 1.4},
                                          Star}};

/// Corners on a circle, the first at `angle` in turns from the top.
std::string polygon(double x, double y, double radius, int corners, double angle) {
  std::string path;
  for (int i = 0; i < corners; ++i) {
    const double turn = 2 * std::numbers::pi * (angle + static_cast<double>(i) / corners);
    path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", x + radius * std::sin(turn),
                        y - radius * std::cos(turn));
  }
  return path + "Z";
}

/// Strokes through the centre, the first at `angle` in turns from the top.
std::string strokes(double x, double y, double radius, int count, double angle) {
  std::string path;
  for (int i = 0; i < count; ++i) {
    const double turn = 2 * std::numbers::pi * (angle + i / (2.0 * count));
    const double dx = radius * std::sin(turn);
    const double dy = radius * std::cos(turn);
    path += fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", x - dx, y + dy, x + dx, y - dy);
  }
  return path;
}

/// Two half circles; their radius and their ends must be rounded the same way.
std::string circle(double x, double y, double radius) {
  const double r = std::round(10 * radius) / 10;
  return fmt::format(
      "M{:.1f} {:.1f}a{r:.1f} {r:.1f} 0 0 0 {:.1f} 0a{r:.1f} {r:.1f} 0 0 0 {:.1f} 0Z", x - r, y,
      2 * r, -2 * r, fmt::arg("r", r));
}

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }

double width_of(char c) {
  constexpr std::string_view Narrow = "ijlftI.,:;'|!()[] -/";
  constexpr std::string_view Wide = "mwMW%@";
  if (!starts_character(c)) return 0;
  if (Narrow.find(c) != std::string_view::npos) return 0.38;
  if (Wide.find(c) != std::string_view::npos) return 0.92;
  return 0.62;
}

}  // namespace

std::string style_sheet() {
  std::string light = FixedStyle;
  std::string dark = FixedDarkStyle;
  for (std::size_t i = 0; i < Colours.size(); ++i) {
    light += fmt::format(".c{}{{color:{}}}", i, Colours[i].on_light);
    dark += fmt::format(".c{}{{color:{}}}", i, Colours[i].on_dark);
  }
  return fmt::format("<style>{}\n@media (prefers-color-scheme:dark){{{}}}\n</style>\n", light,
                     dark);
}

std::string colour_class(Look look) {
  if (look == NeutralLook) return "neutral";
  if (look == FaintLook) return "faint";
  if (look == FrontLook) return "front";
  // The first colour is for the first look only, which the others are compared with.
  return fmt::format("c{}", look == 0 ? 0 : 1 + (look - 1) % (Colours.size() - 1));
}

std::string dash_of(Look look) {
  if (look == FaintLook || look == FrontLook) return "";
  const std::string_view dash = look == NeutralLook ? "6 5" : Dashes.at(look % Dashes.size());
  return dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash);
}

std::string marker(Look look, double x, double y, double radius, std::string_view inner) {
  const Marker& chosen = look == NeutralLook ? Star : Markers.at(look % Markers.size());
  const auto draw = chosen.kind == "mark" ? strokes : polygon;
  const std::string path = chosen.corners == 0
                               ? circle(x, y, radius)
                               : draw(x, y, radius * chosen.size, chosen.corners, chosen.angle);
  if (inner.empty()) return fmt::format("<path class=\"{}\" d=\"{}\"/>\n", chosen.kind, path);
  return fmt::format("<path class=\"{}\" d=\"{}\">{}</path>\n", chosen.kind, path, inner);
}

std::string escaped(std::string_view text) {
  const bool whole = is_utf8(text);
  std::string safe;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else if (c == '"') {
      safe += "&quot;";
    } else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !whole)) {
      safe += '?';
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string shortened(std::string_view text, std::size_t most) {
  std::size_t characters = 0;
  std::size_t end_of_kept = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!starts_character(text[i])) continue;
    ++characters;
    if (characters == most) end_of_kept = i;
  }
  return characters <= most ? std::string(text) : std::string(text.substr(0, end_of_kept)) + "…";
}

double text_width(std::string_view text, double font_size) {
  double width = 0;
  for (const char c : text) width += width_of(c);
  return width * font_size;
}

}  // namespace rcap::chart
