// The list of runs, each with its options, groups and seconds one click away; data sets and missing runs.

/** Numbers of the runs whose details are open. */
const openRuns = new Set();

/** What accuracies are measured on. */
function evaluatedOn(groups) {
  return groups.on === "test" ? "Test" : "Held out";
}

function groupTable(run) {
  const groups = study.groups[run.groups];
  const adjusted = run.adjusted_group_accuracy;
  const hasAdjusted = adjusted !== undefined || (run.worst_groups ?? []).some((entry) => entry.length > 2);
  const text = (accuracy) => (accuracy === null || accuracy === undefined ? "–" : percent(accuracy));
  const entries = run.worst_groups ?? run.group_accuracy.map((accuracy, i) => [i, accuracy, adjusted?.[i]]);
  const rows = entries.map(([i, accuracy, without]) => make("tr", {},
    make("th", { scope: "row" }, groups.names[i]),
    make("td", { class: "number" }, grouped.format(groups.train[i] ?? 0)),
    make("td", { class: "number" }, grouped.format(groups.test[i])),
    make("td", { class: "number" }, text(accuracy)),
    hasAdjusted ? make("td", { class: "number" }, text(without)) : null,
    make("td", { class: "bar" }, make("i", { style: `width:${percent(accuracy ?? 0)}%` }))));
  const heads = ["Group", "Train", evaluatedOn(groups), "Accuracy, %", ...(hasAdjusted ? ["Prior-adjusted, %"] : []), ""];
  const title = run.worst_groups ? `The ${rows.length} worst of ${groups.names.length} groups` : "Groups";
  return make("div", {}, make("h4", {}, title), make("table", { class: "small" },
    make("thead", {}, make("tr", {}, ...heads.map((text, i) =>
      make("th", { scope: "col", class: i > 0 ? "number" : undefined }, text)))),
    make("tbody", {}, ...rows)));
}

function secondsList(run) {
  const names = study.seconds.filter((name, i) => name === "total" || run.seconds[i] > 0);
  return make("div", {}, make("h4", {}, "Seconds"), make("dl", { class: "small" }, ...names.flatMap((name) => [
    make("dt", {}, name.replaceAll("_", " ")), make("dd", { class: "number" }, secondsText(run.seconds[secondsPlace[name]]))])));
}

function optionList(pairs) {
  return make("dl", { class: "small options" }, ...pairs.flatMap(([name, value]) => [
    make("dt", {}, name), make("dd", {}, value)]));
}

function runOptions(run) {
  const own = study.option_names.map((name, i) => [name, run.options[i]]).filter(([, value]) => value !== null);
  const shared = study.shared_options.length
    ? make("details", {}, make("summary", {}, `${study.shared_options.length} more, the same in all runs`),
      optionList(study.shared_options)) : null;
  return make("div", {}, make("h4", {}, "Options"), optionList(own), shared);
}

/** The row below a run that shows its details. */
function detailsRow(run, columnCount) {
  const showCounts = run.counts ? make("button", {
    type: "button", class: "text-button", click: () => showClasses(run),
  }, "Show its classes by epoch") : null;
  return make("tr", { class: "details", id: `run-${run.number}` }, make("td", { colspan: columnCount },
    make("div", { class: "details-box" },
      make("p", { class: "about" }, `${run.model}, ${plural(run.epochs, "epoch")}, ${grouped.format(run.keep_count)} of ` +
        `${grouped.format(run.train_size)} samples per epoch, ${grouped.format(run.samples_seen)} seen in total. `, showCounts),
      make("div", { class: "details-parts" }, groupTable(run), secondsList(run), runOptions(run)))));
}

function toggleRun(run) {
  if (openRuns.has(run.number)) openRuns.delete(run.number);
  else openRuns.add(run.number);
  drawNow(runList);
  byId("table-runs").querySelector(`button[data-run="${run.number}"]`)?.focus();
}

/** Opens a run from elsewhere, e.g. from a mark in a plot, even if the filter hid it. */
function openRun(number) {
  openRuns.add(number);
  byId("filter").value = "";
  drawNow(runList);
  byId(`run-${number}`)?.previousElementSibling.scrollIntoView({ block: "center" });
}

function runRow(run, columnCount) {
  const open = openRuns.has(run.number);
  const name = make("button", {
    type: "button", class: "run-name", "data-run": run.number, "aria-expanded": String(open),
    click: () => toggleRun(run),
  }, run.name);
  const seconds = run.seconds[secondsPlace.total];
  const number = (value, text) => ({ value, text: value === null || value === undefined ? "–" : text });
  return {
    cells: [{ node: name, value: run.name }, ...datasetCells(run.dataset),
      number(run.rate, rateText(run.rate)),
      { node: make("span", { class: "named" }, swatch(run.method), run.method), value: run.method },
      number(run.beta ?? null, String(run.beta)), { text: run.seed, value: run.seed },
      ...[0, 1].map((place) => number(resultOf(run, place), percent(resultOf(run, place) ?? 0))),
      number(seconds, secondsText(seconds))],
    after: open ? detailsRow(run, columnCount) : null,
    attributes: { class: open ? "open" : undefined },
  };
}

/** Every word of the filter must appear somewhere in what the list shows of a run. */
function filteredRuns() {
  const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  return study.runs.filter((run) => {
    if (!isShown(run.method)) return false;
    const text = `${run.name} ${run.dataset} ${run.method} ${run.rate === null ? "" : `${run.rate} ${rateText(run.rate)}`} ` +
      `seed ${run.seed} ${run.model} ${run.beta === undefined ? "" : `beta ${run.beta}`}`.toLowerCase();
    return words.every((word) => text.toLowerCase().includes(word));
  });
}

function drawRuns() {
  const columns = [{ key: "name", label: "Run" }, ...datasetColumns,
    { key: "rate", label: "Pruned", numeric: true }, { key: "method", label: "Method" },
    { key: "beta", label: "β", numeric: true }, { key: "seed", label: "Seed", numeric: true },
    { key: "worst", label: "Worst group, %", numeric: true }, { key: "average", label: "Average group, %", numeric: true },
    { key: "seconds", label: "Seconds", numeric: true, hint: "total, including scoring" }];
  const runs = filteredRuns();
  byId("filter-count").textContent = `${grouped.format(runs.length)} of ${plural(study.runs.length, "run")}`;
  drawTable({ id: "table-runs", name: "Runs", columns, rows: runs.map((run) => runRow(run, columns.length)) });
}

/** The groupings that the runs of a data set have; usually one. */
function groupingsOf(dataset) {
  return distinct(study.runs.filter((run) => run.dataset === dataset).map((run) => run.groups));
}

function smallest(sizes, names) {
  const size = Math.min(...sizes);
  return `${grouped.format(size)} (${names[sizes.indexOf(size)]})`;
}

function dataRow(dataset, place) {
  const runs = study.runs.filter((run) => run.dataset === dataset && run.groups === place);
  const groups = study.groups[place];
  const tested = groups.test.filter((size) => size > 0);
  const list = (values) => distinct(values).join(", ");
  const total = groups.test.reduce((sum, size) => sum + size, 0);
  const number = (value) => ({ text: grouped.format(value), value });
  return {
    cells: [{ text: dataset, value: dataset },
      { text: groups.by === "class" ? "the classes" : "class and attribute", value: groups.by },
      number(groups.names.length), number(runs[0].train_size),
      { text: smallest(groups.train, groups.names), value: Math.min(...groups.train) }, number(total),
      { text: smallest(tested, groups.names.filter((_, i) => groups.test[i] > 0)), value: Math.min(...tested) },
      { text: (100 / Math.min(...tested)).toFixed(2), value: 1 / Math.min(...tested) },
      { text: list(runs.map((run) => run.model)), value: list(runs.map((run) => run.model)) },
      { text: list(runs.map((run) => run.epochs)), value: runs[0].epochs },
      { text: list(runs.map((run) => run.seed)), value: list(runs.map((run) => run.seed)) }],
  };
}

function drawData() {
  const places = study.datasets.flatMap((dataset) => groupingsOf(dataset).map((place) => [dataset, place]));
  drawTable({
    id: "table-data",
    name: "Data sets",
    columns: [{ key: "dataset", label: "Data set" }, { key: "by", label: "Groups are" },
      { key: "groups", label: "Groups", numeric: true }, { key: "train", label: "Train", numeric: true },
      { key: "smallest-train", label: "Smallest group", numeric: true }, { key: "test", label: distinct(places.map(([, place]) => evaluatedOn(study.groups[place]))).join(", "), numeric: true },
      { key: "smallest-test", label: "Smallest group", numeric: true },
      { key: "point", label: "Points per sample", numeric: true }, { key: "model", label: "Network" },
      { key: "epochs", label: "Epochs", numeric: true }, { key: "seeds", label: "Seeds" }],
    rows: places.map(([dataset, place]) => dataRow(dataset, place)),
  });
  byId("group-sizes").replaceChildren(...places.map(([dataset, place]) => groupSizes(dataset, study.groups[place])));
}

/** Filled when it is first opened: a data set can have thousands of groups. */
function groupSizes(dataset, groups) {
  const details = make("details", {}, make("summary", {}, `Group sizes of ${dataset}`));
  details.addEventListener("toggle", () => {
    details.append(make("div", { class: "scroll" }, make("table", { class: "small" },
      make("thead", {}, make("tr", {}, ...["Group", "Train", evaluatedOn(groups)].map((text, i) =>
        make("th", { scope: "col", class: i ? "number" : undefined }, text)))),
      make("tbody", {}, ...groups.names.map((name, i) => make("tr", {}, make("th", { scope: "row" }, name),
        make("td", { class: "number" }, grouped.format(groups.train[i] ?? 0)),
        make("td", { class: "number" }, grouped.format(groups.test[i]))))))));
  }, { once: true });
  return details;
}

function drawMissing() {
  const box = byId("missing");
  box.hidden = !study.missing.length;
  box.querySelector("summary").textContent = `${plural(study.missing.length, "run")} without a result`;
  box.querySelector("div").replaceChildren(make("dl", { class: "missing" }, ...study.missing.flatMap(([name, reason]) => [
    make("dt", {}, name), make("dd", {}, reason)])));
}
