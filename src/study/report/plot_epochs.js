// Plots over the epochs: learning curves, and the classes in the selection of a run.

/** Mean of several lists, entry by entry; a run that ended early does not count after its end. */
function meanCurve(curves) {
  const length = Math.max(...curves.map((curve) => curve.length));
  return Array.from({ length }, (_, i) => {
    const values = curves.map((curve) => curve[i]).filter((value) => value !== null && value !== undefined);
    return values.length ? mean(values) : null;
  });
}

function curveOf(run) {
  if (byId("curve-value").value === "loss") return run.loss;
  return run.curves[state.metric.place]?.map((value) => (value === null ? null : 100 * value));
}

function curveAxis(run) {
  return byId("curve-axis").value === "seen" ? samplesSeen(run) : study.grids[run.at].map((epoch) => epoch + 1);
}

function curveTraces(series, unit) {
  const runs = runsOf(state.dataset, state.rate, series).filter(curveOf);
  if (!runs.length) return [];
  const colour = colourOf(series.method);
  const { dash, mark } = looks.get(series.method);
  const meta = { method: series.method };
  const thin = runs.map((run) => ({
    name: plotText(series.name), type: "scatter", mode: "lines", meta,
    x: curveAxis(run), y: curveOf(run), line: { color: faded(colour, 0.3), width: 1, dash },
    customdata: curveOf(run).map(() => ({ run: run.number })),
    hovertext: curveOf(run).map((value, i) => value !== null && `<b>${plotText(run.name)}</b><br>` +
      `epoch ${study.grids[run.at][i] + 1}<br>${value.toPrecision(4)}${unit}`),
    hoverinfo: "text",
  }));
  // Runs that were evaluated at other epochs have no common mean.
  const comparable = distinct(runs.map((run) => JSON.stringify(curveAxis(run)))).length === 1;
  if (!comparable) return thin.map((trace) => ({ ...trace, line: { color: colour, width: 1.5, dash } }));
  const y = meanCurve(runs.map(curveOf));
  const x = curveAxis(runs[0]);
  return [...(runs.length > 1 ? thin : []), {
    name: plotText(series.name), type: "scatter", mode: x.length > 25 ? "lines" : "lines+markers", meta, x, y,
    customdata: runs.length === 1 ? x.map(() => ({ run: runs[0].number })) : undefined,
    line: { color: colour, width: 2.25, dash }, marker: { symbol: mark, size: 6, color: colour },
    hovertext: y.map((value, i) => value !== null && `<b>${plotText(series.name)}</b><br>` +
      `epoch ${study.grids[runs[0].at][i] + 1}<br>${value.toPrecision(4)}${unit}, n = ${runs.length}`),
    hoverinfo: "text",
  }];
}

function describeCurves() {
  const isLoss = byId("curve-value").value === "loss";
  const traces = shownSeries().flatMap((series) => curveTraces(series, isLoss ? "" : " %"));
  if (!traces.length) return { empty: "No method is shown." };
  return {
    traces,
    layout: {
      height: 440,
      xaxis: byId("curve-axis").value === "seen" ? axis("Samples seen", { rangemode: "tozero" })
        : epochAxis(traces.flatMap((trace) => trace.x)),
      yaxis: isLoss ? axis("Training loss") : accuracyAxis(),
    },
  };
}

/** The runs whose classes can be shown, under the choices above. */
function runsWithCounts() {
  return shownSeries().flatMap((series) => runsOf(state.dataset, state.rate, series)).filter((run) => run.counts);
}

/** Keeps the chosen run if possible; otherwise takes the first of the reference, otherwise the first. */
function fillFractionRuns() {
  const select = byId("fraction-run");
  const runs = runsWithCounts();
  const kept = runs.find((run) => String(run.number) === select.value) ??
    runs.find((run) => run.method === study.reference) ?? runs[0];
  select.replaceChildren(...runs.map((run) => make("option", { value: run.number, selected: run === kept },
    `${run.series}, seed ${run.seed}`)));
  select.disabled = !runs.length;
}

/** Shows the classes of a run from the list of runs. */
function showClasses(run) {
  const rates = ratesOf(run.dataset);
  choose({ dataset: run.dataset, rate: run.rate ?? rates[0] ?? null });
  byId("fraction-run").value = String(run.number);
  refreshDrawings();
  byId("plot-fractions").scrollIntoView({ block: "center" });
}

// Dark to light from large classes to small ones, in greyscale too.
const sequence = {
  light: ["#35165c", "#41408a", "#35628d", "#25848e", "#1f9d88", "#44b36b", "#82b83f", "#b5a520"],
  dark: ["#7d6bd6", "#6a85dc", "#4aa0d8", "#35b6c4", "#46c9a3", "#7cd67c", "#b4dd5c", "#f0e052"],
};

/** The colour at a fraction of the way through a list of colours. */
function between(colours, part) {
  const place = part * (colours.length - 1);
  const [from, to] = [Math.floor(place), Math.ceil(place)].map((i) => parseInt(colours[i].slice(1), 16));
  const channels = [16, 8, 0].map((shift) => {
    const [a, b] = [(from >> shift) & 255, (to >> shift) & 255];
    return Math.round(a + (b - a) * (place % 1));
  });
  return `rgb(${channels.join(", ")})`;
}

function classColours(sizes) {
  const order = sizes.map((_, i) => i).sort((a, b) => sizes[b] - sizes[a] || a - b);
  const last = Math.max(1, sizes.length - 1);
  return sizes.map((_, i) => between(sequence[currentTheme()], order.indexOf(i) / last));
}

/** For every class its values over the epochs, in percent. */
function classFractions(run) {
  const counts = run.counts.map((_, group) => countsOf(run, group));
  const sizes = study.groups[run.groups].train;
  if (byId("fraction-value").value === "kept") {
    return counts.map((list, group) => list.map((count) => (sizes[group] ? (100 * count) / sizes[group] : null)));
  }
  const totals = counts[0].map((_, i) => counts.reduce((sum, list) => sum + list[i], 0));
  return counts.map((list) => list.map((count, i) => (totals[i] ? (100 * count) / totals[i] : null)));
}

const mostLines = 12;

function fractionLines(run, fractions, epochs) {
  const groups = study.groups[run.groups];
  const colours = classColours(groups.train);
  return fractions.map((values, group) => ({
    name: plotText(groups.names[group]), type: "scatter", mode: epochs.length > 25 ? "lines" : "lines+markers",
    x: epochs, y: values, line: { color: colours[group], width: 2 },
    marker: { symbol: marks[group % marks.length], size: 6 },
    hovertext: values.map((value, i) => value !== null && `<b>${plotText(groups.names[group])}</b><br>` +
      `epoch ${epochs[i]}<br>${value.toPrecision(3)} %: ${grouped.format(countsOf(run, group)[i])} of ` +
      `${grouped.format(groups.train[group])} in the class`),
    hoverinfo: "text",
  }));
}

function fractionMap(run, fractions, epochs) {
  const names = study.groups[run.groups].names.map(plotText);
  return {
    type: "heatmap", x: epochs, y: names, z: fractions, colorscale: "Viridis", reversescale: currentTheme() === "light",
    colorbar: { ticksuffix: " %", thickness: 12, outlinewidth: 0 },
    hovertemplate: "<b>%{y}</b><br>epoch %{x}<br>%{z:.3g} %<extra></extra>",
  };
}

function describeFractions() {
  const run = study.runs[Number(byId("fraction-run").value)];
  if (byId("fraction-run").disabled || !run) return { empty: "No run with class counts is shown." };
  const epochs = study.grids[run.counts_at].map((epoch) => epoch + 1);
  const fractions = classFractions(run);
  const title = byId("fraction-value").value === "kept" ? "Fraction of the class kept, %" : "Share of the selection, %";
  const isMap = fractions.length > mostLines;
  return {
    traces: isMap ? [fractionMap(run, fractions, epochs)] : fractionLines(run, fractions, epochs),
    layout: {
      height: isMap ? Math.max(380, 100 + 16 * Math.min(60, fractions.length)) : isNarrow() ? 520 : 400,
      showlegend: !isMap,
      legend: isNarrow() ? { orientation: "h", y: -0.25 } : { x: 1.02, y: 1 },
      xaxis: epochAxis(epochs),
      yaxis: isMap ? axis("", { autorange: "reversed", ticks: "" }) : axis(title, { rangemode: "tozero" }),
    },
  };
}
