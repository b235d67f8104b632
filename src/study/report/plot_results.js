// Plots of the results: accuracy by method, accuracy against cost, the temperature.

/** Seeds of a method are drawn a little apart, so that equal results do not hide each other. */
function spreadAround(place, i, count) {
  return count < 2 ? place : place + 0.36 * (i / (count - 1) - 0.5);
}

/** Both plots of the first section are as high as the list of methods needs. */
function resultsHeight(count) {
  return Math.max(isNarrow() ? 260 : 420, 90 + 30 * count);
}

function describeMethods() {
  const { dataset, rate, metric } = state;
  const shown = shownSeries().filter((series) => runsOf(dataset, rate, series).length);
  if (!shown.length) return { empty: "No method is shown." };
  const traces = shown.flatMap((series, i) => {
    const runs = runsOf(dataset, rate, series).filter((run) => resultOf(run, metric.place) !== null);
    const summary = summarise(runs, (run) => resultOf(run, metric.place));
    if (!summary) return [];
    const colour = colourOf(series.method);
    const { mark } = looks.get(series.method);
    const place = shown.length - 1 - i;
    return [{
      name: plotText(series.name), type: "scatter", mode: "markers", meta: { method: series.method },
      x: runs.map((run) => 100 * resultOf(run, metric.place)),
      y: runs.map((_, j) => spreadAround(place, j, runs.length)),
      customdata: runs.map((run) => ({ run: run.number })),
      marker: { symbol: mark, size: 7, color: faded(colour, 0.45), line: { width: 0 } },
      hovertext: runs.map(runHover), hoverinfo: "text",
    }, {
      name: plotText(series.name), type: "scatter", mode: "markers", meta: { method: series.method },
      x: [100 * summary.mean], y: [place],
      error_x: { type: "data", array: [100 * summary.deviation], color: colour, thickness: 1.5, width: 4 },
      marker: { symbol: mark, size: 12, color: colour, line: { width: 1.5, color: styleValue("--surface") } },
      hovertext: [meanHover(series, summary)], hoverinfo: "text",
    }];
  });
  return {
    traces,
    layout: {
      height: resultsHeight(shown.length),
      xaxis: accuracyAxis(),
      yaxis: axis("", {
        tickvals: shown.map((_, i) => shown.length - 1 - i), ticktext: shown.map((series) => plotText(series.name)),
        range: [-0.7, shown.length - 0.3], ticks: "", showgrid: true,
      }),
    },
  };
}

function costIsInSamples() {
  return byId("cost-samples").checked;
}

function costText(cost) {
  return costIsInSamples() ? `${grouped.format(Math.round(cost))} samples` : `${secondsText(cost)} s`;
}

/** Null if a run comes from a version that did not count samples. */
function costOf(run) {
  if (costIsInSamples()) return sampleCost(run);
  return runSeconds(run) + (byId("cost-scoring").checked ? scoringSeconds(run) : 0);
}

/** A point for every method, at every rate shown; those without a rate appear once. */
function costPoints() {
  const { dataset, rate, metric } = state;
  const rates = byId("cost-rates").checked ? ratesOf(dataset) : [rate];
  return shownSeries().flatMap((series) => (series.hasRate ? rates : [rate]).flatMap((at) => {
    const runs = runsOf(dataset, at, series).filter((run) => resultOf(run, metric.place) !== null && costOf(run) !== null);
    if (!runs.length) return [];
    const accuracy = summarise(runs, (run) => resultOf(run, metric.place));
    const cost = summarise(runs, costOf);
    return [{ series, rate: series.hasRate ? at : null, runs, summary: accuracy, cost: cost.mean, accuracy: accuracy.mean,
      costDeviation: cost.deviation }];
  }));
}

/** Only points of the front have names in the plot: the others lie too close together. */
function costTraces(point, isNamed, withRates) {
  const { metric } = state;
  const colour = colourOf(point.series.method);
  const { mark } = looks.get(point.series.method);
  const meta = { method: point.series.method };
  const label = plotText(point.series.name) + (withRates && point.rate !== null ? ` ${rateText(point.rate)}` : "");
  return [{
    name: label, type: "scatter", mode: "markers", meta,
    x: point.runs.map(costOf), y: point.runs.map((run) => 100 * resultOf(run, metric.place)),
    customdata: point.runs.map((run) => ({ run: run.number })),
    marker: { symbol: mark, size: 6, color: faded(colour, 0.4), line: { width: 0 } },
    hovertext: point.runs.map(runHover), hoverinfo: "text",
  }, {
    name: label, type: "scatter", mode: isNamed ? "markers+text" : "markers", meta,
    x: [point.cost], y: [100 * point.accuracy],
    text: [label], textposition: "top center", textfont: { size: 11, color: styleValue("--text-soft") },
    cliponaxis: false,
    error_y: { type: "data", array: [100 * point.summary.deviation], color: colour, thickness: 1, width: 3 },
    marker: { symbol: mark, size: 12, color: colour, line: { width: 1.5, color: styleValue("--surface") } },
    hovertext: [meanHover(point.series, point.summary, `<br>${costText(point.cost)}` +
      (point.rate === null ? "" : `<br>${rateText(point.rate)} pruned`))],
    hoverinfo: "text",
  }];
}

function describeCost() {
  // The samples of a scoring run are part of the count and cannot be subtracted.
  byId("cost-scoring").disabled = costIsInSamples();
  const found = costPoints();
  if (!found.length) return { empty: "No method is shown." };
  const front = paretoFront(found);
  const costs = found.map((point) => point.cost);
  const isWide = Math.max(...costs) > 4 * Math.min(...costs) && Math.min(...costs) > 0;
  const line = {
    name: "front", type: "scatter", mode: "lines", hoverinfo: "skip",
    x: front.map((point) => point.cost), y: front.map((point) => 100 * point.accuracy),
    line: { color: styleValue("--text-faint"), width: 1.5, dash: "dash" },
  };
  return {
    traces: [line, ...found.flatMap((point) => costTraces(point, front.includes(point), byId("cost-rates").checked))],
    layout: {
      height: isNarrow() ? 380 : Math.min(520, resultsHeight(shownSeries().length)),
      margin: { l: 56, r: 24, t: 24, b: 48 },
      xaxis: axis(`${costIsInSamples() ? "Samples a run takes" : "Seconds of a run"}${isWide ? ", logarithmic" : ""}`, {
        ...(isWide ? logTicks(costs) : {}),
      }),
      yaxis: accuracyAxis(),
    },
  };
}

/** One line: a method at a rate, over its temperatures. */
function betaTrace(method, rate, runs, number) {
  const { metric } = state;
  const betas = [...byKey(runs, (run) => run.beta)].sort((a, b) => a[0] - b[0]);
  const summaries = betas.map(([, list]) => summarise(list, (run) => resultOf(run, metric.place)));
  const colour = colourOf(method);
  const label = `${plotText(method)}, ${rateText(rate)}`;
  return {
    name: label, type: "scatter", mode: "lines+markers+text", meta: { method },
    x: betas.map(([beta]) => beta), y: summaries.map((summary) => summary && 100 * summary.mean),
    text: betas.map((_, i) => (i === betas.length - 1 ? `  ${label}` : "")), textposition: "middle right",
    textfont: { size: 11, color: styleValue("--text-soft") }, cliponaxis: false,
    error_y: { type: "data", array: summaries.map((summary) => 100 * (summary?.deviation ?? 0)), color: faded(colour, 0.6),
      thickness: 1, width: 3 },
    line: { color: colour, width: 2, dash: dashes[number % dashes.length] },
    marker: { symbol: marks[number % marks.length], size: 8, color: colour },
    hovertext: summaries.map((summary, i) => summary && `<b>${label}</b><br>β ${betas[i][0]}<br>` +
      `${percent(summary.mean)} ± ${percent(summary.deviation)} %<br>n = ${summary.count}`),
    hoverinfo: "text",
  };
}

function describeBeta() {
  const { dataset } = state;
  const traces = [...ablated].filter(isShown).flatMap((method) => ratesOf(dataset).flatMap((rate, i) => {
    const runs = study.runs.filter((run) => run.dataset === dataset && run.method === method && run.rate === rate);
    return distinct(runs.map((run) => run.beta)).length > 1 ? [betaTrace(method, rate, runs, i)] : [];
  }));
  const betas = distinct(traces.flatMap((trace) => trace.x));
  if (!traces.length) return { empty: "None of the methods shown ran with several temperatures on this data set." };
  return {
    traces,
    layout: {
      margin: { l: 56, r: isNarrow() ? 90 : 130, t: 8, b: 48 },
      xaxis: axis("β, logarithmic", {
        type: "log", tickvals: betas, ticktext: betas.map(String),
      }),
      yaxis: accuracyAxis(),
    },
  };
}
