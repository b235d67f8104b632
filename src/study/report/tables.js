// Tables that sort. A table is columns and rows of cells; each cell is { text or node, value }, sorted by value.

/** What each table is sorted by: its id -> { key of the column, direction }. Kept when tables are redrawn. */
const sorting = new Map();

function compareValues(a, b) {
  if (typeof a === "string" || typeof b === "string") {
    return String(a).localeCompare(String(b), "en", { numeric: true });
  }
  return a - b;
}

/** Rows in the chosen order. Cells without a value come last in both directions. */
function sortedRows(rows, place, direction) {
  const valueOf = (row) => row.cells[place].value;
  const has = (row) => valueOf(row) !== null && valueOf(row) !== undefined;
  const order = rows.filter(has).sort((a, b) => direction * compareValues(valueOf(a), valueOf(b)));
  return [...order, ...rows.filter((row) => !has(row))];
}

/** A header is a button: ascending, descending, then the original order. */
function nextSorting(id, key) {
  const current = sorting.get(id);
  if (current?.key !== key) sorting.set(id, { key, direction: 1 });
  else if (current.direction === 1) sorting.set(id, { key, direction: -1 });
  else sorting.delete(id);
}

function headerCell(table, column, redraw) {
  const current = sorting.get(table.id);
  const direction = current?.key === column.key ? current.direction : 0;
  const button = make("button", {
    type: "button",
    "data-key": column.key,
    title: column.hint,
    click: () => {
      nextSorting(table.id, column.key);
      redraw();
      // The header was created again; keep the keyboard focus on it.
      byId(table.id).querySelector(`button[data-key="${CSS.escape(column.key)}"]`)?.focus();
    },
  }, column.method ? swatch(column.method) : null, column.label,
  make("span", { class: "arrow", "aria-hidden": "true" }, direction === 1 ? "↑" : direction === -1 ? "↓" : ""));
  return make("th", {
    scope: "col",
    class: column.numeric ? "number" : undefined,
    "aria-sort": direction === 1 ? "ascending" : direction === -1 ? "descending" : "none",
  }, button);
}

function bodyCell(cell, column) {
  const classes = [column.numeric ? "number" : "", cell.class ?? ""].join(" ").trim();
  return make("td", { class: classes || undefined, title: cell.hint }, cell.node ?? cell.text ?? "");
}

/**
 * Puts a table into the element `table.id`, replacing the previous one.
 * @param table  { id, caption, columns: [{ key, label, numeric, method, hint }], rows: [{ cells, after, attributes }] };
 *               `after` is a row that stays below its row
 */
function drawTable(table) {
  const box = byId(table.id);
  const scrolled = box.querySelector(".scroll")?.scrollTop ?? 0;
  const redraw = () => drawTable(table);
  const place = table.columns.findIndex((column) => column.key === sorting.get(table.id)?.key);
  const rows = place < 0 ? table.rows : sortedRows(table.rows, place, sorting.get(table.id).direction);
  const body = make("tbody");
  for (const row of rows) {
    body.append(make("tr", row.attributes ?? {}, ...row.cells.map((cell, i) => bodyCell(cell, table.columns[i]))));
    if (row.after) body.append(row.after);
  }
  const element = make("table", {},
    table.caption ? make("caption", {}, make("span", {}, table.caption)) : null,
    make("thead", {}, make("tr", {}, ...table.columns.map((column) => headerCell(table, column, redraw)))),
    body);
  const scroll = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": table.name }, element);
  box.replaceChildren(scroll);
  scroll.scrollTop = scrolled;
}

// A study of one data set names it in captions, not in every row.
const theDataset = distinct(tableRows.map(([dataset]) => dataset)).length === 1 ? tableRows[0][0] : null;
const datasetColumns = theDataset === null ? [{ key: "dataset", label: "Data set" }] : [];
const placeColumns = [...datasetColumns, { key: "rate", label: "Pruned", numeric: true }];

function datasetCells(dataset) {
  return theDataset === null ? [{ text: dataset, value: dataset, class: "name" }] : [];
}

function placeCells(dataset, rate) {
  return [...datasetCells(dataset), { text: rateText(rate), value: rate }];
}

function captionText(text) {
  return theDataset === null ? text : `${text}: ${theDataset}`;
}

function seriesColumn(series) {
  return { key: series.name, label: series.name, numeric: true, method: series.method };
}

/**
 * Ranks of the pruned methods in a row: 1 for the best, 2 for the second. Numbers are compared as shown, so that
 * equal numbers are equally good; if all are equal there is no rank.
 */
function ranksOf(seriesShown, summaries) {
  const means = seriesShown.map((series, i) => (!series.hasRate || !summaries[i] ? null : percent(summaries[i].mean)));
  const order = distinct(means.filter((text) => text !== null)).sort((a, b) => b - a);
  return means.map((text) => (text === null || order.length < 2 ? 0 : order.indexOf(text) + 1));
}

function accuracyCell(summary, rank, usualCount, runs) {
  if (!summary) return { text: "–", value: null, class: "faint" };
  const text = percent(summary.mean);
  const number = rank === 1 ? make("strong", {}, text) : rank === 2 ? make("u", {}, text) : text;
  const spread = summary.count > 1 ? make("span", { class: "spread" }, ` ± ${percent(summary.deviation)}`) : null;
  const count = summary.count !== usualCount ? make("span", { class: "spread" }, ` (n ${summary.count})`) : null;
  return {
    node: make("span", {}, number, spread, count),
    value: summary.mean,
    hint: `${percent(summary.mean, 3)} ± ${percent(summary.deviation, 3)} %, n = ${summary.count}, ` +
      `seeds ${runs.map((run) => run.seed).join(", ")}`,
  };
}

/** How many runs most cells of a row have. */
function usualCount(summaries) {
  const counts = summaries.filter(Boolean).map((summary) => summary.count);
  const uses = byKey(counts, (count) => count);
  return [...uses.keys()].sort((a, b) => uses.get(b).length - uses.get(a).length || b - a)[0] ?? 0;
}

function drawAccuracyTable(id, metric, seriesShown) {
  const rows = tableRows.map(([dataset, rate]) => {
    const runs = seriesShown.map((series) => runsOf(dataset, rate, series));
    const summaries = runs.map((list) => summarise(list, (run) => resultOf(run, metric.place)));
    const ranks = ranksOf(seriesShown, summaries);
    const usual = usualCount(summaries);
    return {
      cells: [...placeCells(dataset, rate), { text: String(usual), value: usual },
        ...summaries.map((summary, i) => accuracyCell(summary, ranks[i], usual, runs[i]))],
    };
  });
  drawTable({
    id,
    name: `${metric.name} accuracy`,
    caption: captionText(`${metric.name} accuracy, %`),
    columns: [...placeColumns, { key: "n", label: "n", numeric: true, hint: "runs per cell, unless stated otherwise" },
      ...seriesShown.map(seriesColumn)],
    rows,
  });
}

function differenceCell(differences, usual) {
  if (!differences.length) return { text: "–", value: null, class: "faint" };
  const centre = mean(differences);
  const text = points(centre);
  const spread = differences.length > 1 ? ` ± ${percent(deviation(differences))}` : "";
  const count = differences.length !== usual ? ` (n ${differences.length})` : "";
  const ahead = differences.filter((value) => value > 0).length;
  return {
    node: make("span", {}, text, make("span", { class: "spread" }, spread + count)),
    value: centre,
    class: text === "0.0" ? undefined : centre > 0 ? "ahead" : "behind",
    hint: `ahead in ${ahead} of ${differences.length} pairs: ${differences.map(points).join(", ")}`,
  };
}

/** Methods minus the reference, with the seeds that both have. */
function drawDifferences(metric, seriesShown) {
  if (!referenceSeries) return;
  const others = seriesShown.filter((series) => series !== referenceSeries);
  const rows = tableRows.map(([dataset, rate]) => {
    const references = runsOf(dataset, rate, referenceSeries);
    const pairs = others.map((series) => pairedDifferences(runsOf(dataset, rate, series), references, metric.place));
    const usual = usualCount(pairs.map((list) => (list.length ? { count: list.length } : null)));
    return {
      cells: [...placeCells(dataset, rate), { text: String(usual), value: usual },
        ...pairs.map((list) => differenceCell(list, usual))],
    };
  });
  drawTable({
    id: "table-differences",
    name: `Differences from ${referenceSeries.name}`,
    caption: captionText(`${metric.name} accuracy, method minus ${referenceSeries.name}, points`),
    columns: [...placeColumns, { key: "n", label: "pairs", numeric: true }, ...others.map(seriesColumn)],
    rows,
  });
}

function speedUp(fullSeconds, seconds) {
  if (fullSeconds === null || !(seconds > 0)) return { text: "–", value: null, class: "faint" };
  return { text: `${(fullSeconds / seconds).toFixed(1)} ×`, value: fullSeconds / seconds };
}

/** The mean of one kind of samples that runs took; a dash if one of them did not count. */
function samplesCell(runs, place) {
  if (runs.some((run) => !run.cost)) return { text: "–", value: null, class: "faint" };
  const count = mean(runs.map((run) => run.cost[place]));
  return { text: grouped.format(Math.round(count)), value: count };
}

function costRow(dataset, rate, series) {
  const runs = runsOf(dataset, rate, series);
  if (!runs.length) return [];
  const full = seriesList.filter((other) => other.full).flatMap((other) => runsOf(dataset, rate, other));
  const fullSeconds = full.length ? mean(full.map(runSeconds)) : null;
  const training = summarise(runs, runSeconds);
  const scoring = mean(runs.map(scoringSeconds));
  const spread = training.count > 1 ? ` ± ${secondsText(training.deviation)}` : "";
  const name = make("span", { class: "named" }, swatch(series.method), series.name);
  return [{
    cells: [...placeCells(dataset, rate), { node: name, value: series.name },
      { text: String(runs.length), value: runs.length },
      { text: grouped.format(runs[0].keep_count), value: runs[0].keep_count },
      { node: make("span", {}, secondsText(training.mean), make("span", { class: "spread" }, spread)), value: training.mean },
      speedUp(fullSeconds, training.mean),
      scoring > 0 ? { text: secondsText(scoring), value: scoring } : { text: "–", value: 0, class: "faint" },
      { text: secondsText(training.mean + scoring), value: training.mean + scoring },
      speedUp(fullSeconds, training.mean + scoring), samplesCell(runs, 0), samplesCell(runs, 1)],
  }];
}

function drawCosts(seriesShown) {
  drawTable({
    id: "table-cost",
    name: "Cost",
    caption: captionText("Cost"),
    columns: [...placeColumns, { key: "method", label: "Method" }, { key: "n", label: "n", numeric: true },
      { key: "keep", label: "Samples per epoch", numeric: true }, { key: "training", label: "Seconds", numeric: true },
      { key: "speed", label: "Speed-up", numeric: true }, { key: "scoring", label: "Scoring, s", numeric: true },
      { key: "total", label: "With scoring, s", numeric: true },
      { key: "total-speed", label: "Speed-up with scoring", numeric: true },
      { key: "trained", label: "Samples trained on", numeric: true },
      { key: "forward", label: "Samples forward only", numeric: true }],
    rows: tableRows.flatMap(([dataset, rate]) => seriesShown.flatMap((series) => costRow(dataset, rate, series))),
  });
}
