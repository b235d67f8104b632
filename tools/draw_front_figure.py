#!/usr/bin/env python3
"""Draws docs/images/front.svg, the figure of the README, from the committed tables of docs/results/fashion.

    tools/draw_front_figure.py           # writes the figure
    tools/draw_front_figure.py --check   # fails if it is not what the tables say
"""

import argparse
import csv
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FIGURE = ROOT / "docs/images/front.svg"
DATA_SET, RATE = "long-tailed 100", "0.9"
# In the order they are drawn, with what the reader is to know of each.
METHODS = {"full": "all of the data", "rcap": "rcap", "balanced": "balanced", "ccs": "CCS",
           "infobatch": "InfoBatch", "rs2": "random (RS2)"}
WIDTH, ROW, TOP, LEFT, BAR = 560, 50, 90, 158, 15

STYLE = """
text{font:17px system-ui,sans-serif;fill:#1f2328}
.title{font-size:18px;font-weight:600}.soft{fill:#57606a;font-size:15px}.name{text-anchor:end}.ours{font-weight:700}
.page{fill:#fff}.worst{fill:#0062a3}.average{fill:#0062a3;opacity:.3}.rule{stroke:#d8dee4}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.soft{fill:#9da7b3}.page{fill:#0d1117}.worst,.average{fill:#2f8fd0}.rule{stroke:#30363d}}
"""


def read(table):
    with open(ROOT / f"docs/results/fashion/table_{table}.csv", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["data_set"] == DATA_SET and row["pruning_rate"] == RATE]
    return {row["method"]: row for row in rows}


def bar(kind, x, y, percent, scale):
    return (f'<rect class="{kind}" x="{x}" y="{y}" width="{max(percent * scale, 1):.1f}" height="{BAR}" rx="2"/>'
            f'<text x="{x + percent * scale + 7:.1f}" y="{y + BAR - 2}">{percent:.0f}</text>')


def draw():
    worst, average, cost = read("worst_group"), read("average_group"), read("cost")
    full_seconds = float(cost["full"]["mean"])
    height = TOP + ROW * len(METHODS) + 12
    scale = (WIDTH - LEFT - 112) / 100
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
             f'height="{height}" role="img">',
             "<title>A tenth of the data each epoch: accuracy of the worst and of the average class</title>",
             "<desc>" + "; ".join(f"{name}: worst class {float(worst[method]['mean']):.0f} %, average class "
                                  f"{float(average[method]['mean']):.0f} %" for method, name in METHODS.items())
             + ".</desc>", f"<style>{STYLE}</style>", f'<rect class="page" width="{WIDTH}" height="{height}" rx="8"/>',
             '<text class="title" x="20" y="32">A tenth of long-tailed Fashion-MNIST each epoch</text>',
             f'<rect class="worst" x="20" y="49" width="{BAR}" height="{BAR}" rx="2"/>'
             '<text class="soft" x="42" y="62">worst class, %</text>'
             f'<rect class="average" x="160" y="49" width="{BAR}" height="{BAR}" rx="2"/>'
             '<text class="soft" x="182" y="62">average class, %</text>'
             f'<text class="soft" x="{WIDTH - 20}" y="62" text-anchor="end">cost</text>']
    for place, (method, name) in enumerate(METHODS.items()):
        y = TOP + place * ROW
        part = float(cost[method]["mean"]) / full_seconds
        told = "1" if method == "full" else f"1/{1 / part:.0f}" if part < 0.5 else f"{part:.1f}"
        ours = " ours" if method == "rcap" else ""
        lines += [f'<line class="rule" x1="20" x2="{WIDTH - 20}" y1="{y - 4}" y2="{y - 4}"/>',
                  f'<text class="name{ours}" x="{LEFT - 12}" y="{y + 24}">{name}</text>',
                  bar("worst", LEFT, y + 3, float(worst[method]["mean"]), scale),
                  bar("average", LEFT, y + 22, float(average[method]["mean"]), scale),
                  f'<text class="{ours.strip()}" x="{WIDTH - 20}" y="{y + 24}" text-anchor="end">{told}</text>']
    return "\n".join([*lines, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the figure is out of date")
    if not parser.parse_args().check:
        FIGURE.write_text(draw())
        return 0
    if FIGURE.read_text() == draw():
        return 0
    print(f"{FIGURE.relative_to(ROOT)} is not what docs/results/fashion says: run tools/draw_front_figure.py",
          file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
