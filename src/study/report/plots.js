// What all plots share: layout in the colours of the page, and drawing only what is in view.

/** What is drawn when it comes into view: its element, how to draw it, whether it is in view or out of date. */
const drawings = [];

function addDrawing(id, draw) {
  const drawing = { element: byId(id), draw, seen: false, stale: true };
  drawings.push(drawing);
  return drawing;
}

function addPlot(id, describe) {
  addDrawing(id, () => drawPlot(byId(id), describe()));
}

/** Plotly interprets some HTML in text; names must be shown as they are. */
function plotText(text) {
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function isNarrow() {
  return window.innerWidth < 700;
}

function axis(title, more = {}) {
  return {
    title: { text: title, standoff: 10 },
    gridcolor: styleValue("--line"),
    linecolor: styleValue("--line-strong"),
    zeroline: false,
    ticks: "outside",
    ticklen: 4,
    tickcolor: styleValue("--line-strong"),
    automargin: true,
    ...more,
  };
}

function accuracyAxis() {
  return axis(`${state.metric.name} accuracy, %`, { rangemode: "nonnegative" });
}

/** If there are few epochs, each has a tick, so that there are none in between. */
function epochAxis(epochs) {
  return axis("Epoch", { rangemode: "tozero", dtick: Math.max(...epochs) <= 10 ? 1 : undefined });
}

/** Ticks of a logarithmic axis at 1, 2 and 5, each with its whole number. */
function logTicks(values) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(Math.min(...values))); 10 ** power <= Math.max(...values); ++power) {
    ticks.push(...[1, 2, 5].map((digit) => Number((digit * 10 ** power).toPrecision(1))));
  }
  return { type: "log", tickvals: ticks, ticktext: ticks.map((tick) => grouped.format(tick)) };
}

function plotLayout(more) {
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: styleValue("--font"), size: 12, color: styleValue("--text-soft") },
    margin: { l: 56, r: 16, t: 8, b: 48 },
    hoverlabel: {
      bgcolor: styleValue("--raised"), bordercolor: styleValue("--line-strong"), align: "left",
      font: { family: styleValue("--font"), size: 12, color: styleValue("--text") },
    },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: styleValue("--text-faint"), activecolor: styleValue("--accent") },
    hovermode: "closest",
    showlegend: false,
    // On a phone, moving a finger over a plot scrolls the page.
    dragmode: isNarrow() ? false : "zoom",
    height: 380,
    ...more,
  };
}

const plotConfig = {
  responsive: true,
  displaylogo: false,
  displayModeBar: true,  // report.css shows it on hover and focus
  // Named one by one: Plotly's own list has a button that sends the data of the plot to a server.
  modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
  plotlyServerURL: "",
};

/** Shown instead of a plot if there is nothing to draw. */
function saySo(element, text) {
  Plotly.purge(element);
  element.replaceChildren(make("p", { class: "empty" }, text));
}

function drawPlot(element, { traces, layout, empty }) {
  if (empty) return saySo(element, empty);
  element.querySelector(".empty")?.remove();
  const isNew = !element.classList.contains("js-plotly-plot");
  element.style.minHeight = `${layout.height ?? 380}px`;
  Plotly.react(element, traces, plotLayout(layout), plotConfig);
  if (isNew) {
    element.on("plotly_click", (event) => {
      const run = event.points[0].customdata?.run;
      if (run !== undefined) openRun(run);
    });
  }
  if (!performance.getEntriesByName("first-plot").length) performance.mark("first-plot");
}

/** Draws whether it is in view or not. */
function drawNow(drawing) {
  drawing.stale = false;
  drawing.draw();
}

function drawSeen() {
  for (const drawing of drawings) {
    if (drawing.seen && drawing.stale) drawNow(drawing);
  }
}

/** What is shown has changed: what is in view is drawn at once, the rest when it comes into view. */
function refreshDrawings() {
  for (const drawing of drawings) drawing.stale = true;
  drawSeen();
}

/** The last step of loading: Plotly is available. */
function startDrawing() {
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      drawings.find((drawing) => drawing.element === entry.target).seen = entry.isIntersecting;
    }
    drawSeen();
  }, { rootMargin: "150px" });
  for (const drawing of drawings) watcher.observe(drawing.element);
}

/** What hovering over a run shows. */
function runHover(run) {
  const lines = [`<b>${plotText(run.name)}</b>`,
    plotText(run.series) + (run.rate === null ? "" : `, ${rateText(run.rate)} pruned`),
    `seed ${run.seed}${run.beta === undefined ? "" : `, β ${run.beta}`}`];
  for (const { name, place } of metrics) {
    const result = resultOf(run, place);
    if (result !== null) lines.push(`${name.toLowerCase()} ${percent(result)} %`);
  }
  lines.push(`${secondsText(run.seconds[secondsPlace.total])} s`);
  return lines.join("<br>");
}

function meanHover(series, summary, more = "") {
  return `<b>${plotText(series.name)}</b><br>mean ${percent(summary.mean)} ± ${percent(summary.deviation)} %<br>` +
    `n = ${summary.count}${more}`;
}

/** A paler colour, for what is drawn behind the means. */
function faded(colour, part) {
  const value = parseInt(colour.slice(1), 16);
  return `rgba(${value >> 16}, ${(value >> 8) & 255}, ${value & 255}, ${part})`;
}
