"""The figure of the demo: how many samples of each class an epoch trains on, as an SVG."""

import math

COLOURS = ["#8b949e", "#d9822b", "#3fa45b", "#4c8df6", "#c05fd6"]  # told apart on light and on dark
# The page brings its own ground, so that text and ground always belong to the same scheme.
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f } .faint { fill: #57606a } .title { font-weight: 600 }
  .page { fill: #ffffff } .grid { stroke: #d0d7de } .line { fill: none; stroke-width: 2.5 }
  .dot { stroke: #ffffff; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .faint { fill: #9198a1 } .page { fill: #0d1117 } .grid { stroke: #30363d }
    .dot { stroke: #0d1117 } }
"""
LEFT, TOP, WIDTH, HEIGHT = 64, 62, 640, 330
LABEL_GAP = 17
DECADES = 4


def spread(places, gap):
    """Moves places apart to at least `gap`, in their order."""
    moved = list(places)
    order = sorted(range(len(places)), key=places.__getitem__)
    for before, after in zip(order, order[1:]):
        moved[after] = max(moved[after], moved[before] + gap)
    return moved


def height_of(count):
    return TOP + HEIGHT * (1 - math.log10(max(count, 1)) / DECADES)


def draw_axes(class_names, places):
    for count in (10**decade for decade in range(DECADES + 1)):
        y = height_of(count)
        yield f'<path class="grid" d="M{LEFT} {y:.1f}h{WIDTH}"/>'
        yield f'<text class="faint" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{count:,}</text>'
    for j, (name, x) in enumerate(zip(class_names, places)):
        y = TOP + HEIGHT + 22 + 20 * (j % 2)  # in two rows: in one the names would touch
        yield f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{name}</text>'


def draw_curve(method, colour, class_names, counts, places, label_y):
    points = " ".join(f"{x:.1f},{height_of(count):.1f}" for x, count in zip(places, counts))
    yield f'<polyline class="line" stroke="{colour}" points="{points}"/>'
    for name, count, x in zip(class_names, counts, places):
        yield f'<circle class="dot" fill="{colour}" r="4.5" cx="{x:.1f}" cy="{height_of(count):.1f}">'
        yield f"<title>{method}, {name}: {count}</title></circle>"
    yield f'<text x="{LEFT + WIDTH + 6}" y="{label_y + 4:.1f}" style="fill: {colour}">{method}</text>'


def draw_class_counts(class_names, counts, subtitle):
    """An SVG with one curve a method. `counts`: method -> samples of each class, at most five methods."""
    places = [LEFT + WIDTH * (j + 0.5) / len(class_names) for j in range(len(class_names))]
    label_places = spread([height_of(of_class[-1]) for of_class in counts.values()], LABEL_GAP)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 108} {TOP + HEIGHT + 60}" role="img" '
        'aria-label="How many samples of each class an epoch trains on">',
        f"<style>{STYLE}</style>",
        '<rect class="page" width="100%" height="100%" rx="8"/>',
        f'<text class="title" x="{LEFT}" y="26">How many samples of each class an epoch trains on</text>',
        f'<text class="faint" x="{LEFT}" y="46">{subtitle}</text>',
        *draw_axes(class_names, places),
    ]
    for (method, of_class), colour, label_y in zip(counts.items(), COLOURS, label_places):
        lines += draw_curve(method, colour, class_names, of_class, places, label_y)
    return "\n".join([*lines, "</svg>\n"])
