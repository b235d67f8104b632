#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace rcap::chart {

/// How the lines and points of one thing look, the same in every figure of a study. Looks also
/// differ in marker and dash, never in colour alone: 13 markers, 4 dashes, and 7 colours after
/// Okabe and Ito.
using Look = std::size_t;

inline constexpr Look NeutralLook = std::numeric_limits<Look>::max();    ///< in the colour of text
inline constexpr Look FaintLook = std::numeric_limits<Look>::max() - 1;  ///< thin and grey
inline constexpr Look FrontLook = std::numeric_limits<Look>::max() - 2;  ///< broad and pale

inline constexpr int FontSize = 18;

/// The style sheet of a figure: light, or dark if the reader prefers it.
[[nodiscard]] std::string style_sheet();

/// The class of a group of marks, which gives them their colour.
[[nodiscard]] std::string colour_class(Look look);

/// The attribute that dashes a line, empty for a solid one.
[[nodiscard]] std::string dash_of(Look look);

/// A marker around a point. `inner` is the content of its element, e.g. a `<title>`.
[[nodiscard]] std::string marker(Look look, double x, double y, double radius,
                                 std::string_view inner = {});

/// Text as XML allows it: markup escaped, control characters and broken UTF-8 replaced.
[[nodiscard]] std::string escaped(std::string_view text);

/// At most `most` characters; a longer text is cut and ends in an ellipsis.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

/// An upper estimate of the width of the text, since fonts differ.
[[nodiscard]] double text_width(std::string_view text, double font_size = FontSize);

}  // namespace rcap::chart
