// The page: what is chosen, the controls that choose it, and the start.

const state = { dataset: null, rate: null, metric: metrics[0], hiddenMethods: new Set() };

const runList = addDrawing("table-runs", drawRuns);

function isShown(method) {
  return !state.hiddenMethods.has(method);
}

function shownSeries() {
  return seriesList.filter((series) => isShown(series.method));
}

function drawTables() {
  const shown = shownSeries();
  drawAccuracyTable("table-worst", { name: "Worst group", place: 0 }, shown);
  drawAccuracyTable("table-average", { name: "Average group", place: 1 }, shown);
  for (const metric of metrics.filter(({ place }) => place >= 4)) {
    drawAccuracyTable(metric.place === 4 ? "table-worst-adjusted" : "table-average-adjusted", metric, shown);
  }
  drawDifferences(state.metric, shown);
  drawCosts(shown);
}

function redraw() {
  drawTables();
  fillFractionRuns();
  refreshDrawings();
}

function fillSelect(id, options, chosen) {
  const select = byId(id);
  select.replaceChildren(...options.map(({ value, text }) => make("option", { value, selected: value === chosen }, text)));
  select.disabled = options.length < 2;
}

/** Rates of the chosen data set; at the highest, methods differ most. */
function fillRates() {
  const rates = ratesOf(state.dataset);
  if (!rates.includes(state.rate)) state.rate = rates.at(-1) ?? null;
  const options = rates.length ? rates.map((rate) => ({ value: String(rate), text: rateText(rate) }))
    : [{ value: "null", text: "–" }];
  fillSelect("choose-rate", options, String(state.rate));
  byId("cost-rates").parentElement.hidden = rates.length < 2;
}

/** Applies new choices and draws what depends on them. */
function choose(changes) {
  Object.assign(state, changes);
  byId("choose-dataset").value = String(study.datasets.indexOf(state.dataset));
  fillRates();
  redraw();
}

function setUpChoices() {
  byId("cost-samples").parentElement.hidden = !study.runs.some((run) => run.cost);
  const datasets = study.datasets.filter((dataset) => study.runs.some((run) => run.dataset === dataset));
  state.dataset = datasets[0] ?? null;
  fillSelect("choose-dataset", datasets.map((dataset) => ({ value: String(study.datasets.indexOf(dataset)), text: dataset })),
    String(study.datasets.indexOf(state.dataset)));
  fillSelect("choose-metric", metrics.map(({ name, place }) => ({ value: String(place), text: name })), "0");
  fillRates();
  byId("choose-dataset").addEventListener("change", (event) => choose({ dataset: study.datasets[Number(event.target.value)] }));
  byId("choose-rate").addEventListener("change", (event) => choose({ rate: Number(event.target.value) }));
  byId("choose-metric").addEventListener("change", (event) => choose({ metric: metrics[Number(event.target.value)] }));
  for (const id of ["cost-scoring", "cost-samples", "cost-rates", "curve-value", "curve-axis", "fraction-run", "fraction-value"]) {
    byId(id).addEventListener("change", refreshDrawings);
  }
  byId("filter").addEventListener("input", () => drawNow(runList));
}

function methodBox(method) {
  const box = make("input", {
    type: "checkbox",
    value: method,
    change: () => {
      if (box.checked) state.hiddenMethods.delete(method);
      else state.hiddenMethods.add(method);
      redraw();
    },
  });
  box.checked = true;
  return make("label", { class: "method" }, box, swatch(method), method);
}

function setUpMethods() {
  const methods = distinct(seriesList.map((series) => series.method));
  byId("methods").replaceChildren(...methods.map(methodBox));
  const setAll = (shown) => {
    state.hiddenMethods = new Set(shown ? [] : methods);
    for (const box of byId("methods").querySelectorAll("input")) box.checked = shown;
    redraw();
  };
  byId("all-methods").addEventListener("click", () => setAll(true));
  byId("no-methods").addEventListener("click", () => setAll(false));
}

function setUpTheme() {
  const button = byId("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const show = (theme) => {
    applyTheme(theme);
    button.textContent = theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${theme === "dark" ? "light" : "dark"} colours`);
    button.setAttribute("aria-pressed", String(theme === "dark"));
    refreshDrawings();
  };
  let chosen = false;
  button.addEventListener("click", () => {
    chosen = true;
    show(currentTheme() === "dark" ? "light" : "dark");
  });
  system.addEventListener("change", () => {
    if (!chosen) show(system.matches ? "dark" : "light");
  });
  show(system.matches ? "dark" : "light");
}

function drawFacts() {
  const runs = study.runs;
  const facts = [
    ["Runs", grouped.format(runs.length)],
    ["Data sets", grouped.format(distinct(runs.map((run) => run.dataset)).length)],
    ["Methods", grouped.format(distinct(runs.map((run) => run.method)).length)],
    ["Pruned", distinct(runs.filter((run) => run.rate !== null).map((run) => run.rate)).sort((a, b) => a - b)
      .map((rate) => rateText(rate).replace(" %", "")).join(", ") + " %"],
    ["Seeds", distinct(runs.map((run) => run.seed)).sort(compareValues).join(", ")],
    ["Compared with", referenceSeries?.name ?? "–"],
  ];
  byId("facts").replaceChildren(...facts.map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text))));
  const notice = byId("notice");
  notice.hidden = !study.missing.length;
  notice.replaceChildren(`${plural(study.missing.length, "run has", "runs have")} no result yet; `,
    make("a", { href: "#missing" }, "see which and why"), ".");
}

/** Cells with two runs of one seed mix runs that should be kept apart. */
function repeatedSeeds() {
  return [...cells.values()].filter((runs) => distinct(runs.map((run) => run.seed)).length < runs.length);
}

/** What is said of methods other than "full" that no pruning rate has an effect on. */
function unrankedWords() {
  const names = distinct(seriesList.filter((series) => !series.hasRate && !series.full).map((series) => series.method));
  return names.length ? `, nor ${names.length === 1 ? "is" : "are"} ${names.join(", ")}, whose own rule decides how many ` +
    "samples are left" : "";
}

function drawWords() {
  const repeated = repeatedSeeds();
  byId("about-accuracy").replaceChildren("Mean ± population deviation over n seeds. Of the pruned methods shown, the best in a row is ",
    make("strong", {}, "bold"), ", the second ", make("u", {}, "underlined"), "; ", make("b", {}, "full"),
    " trains on everything and is not ranked", unrankedWords(), ". Click a column header to sort.",
    ...study.remarks.map(([dataset, remark]) => ` ${dataset}: ${remark}`),
    repeated.length ? ` ${plural(repeated.length, "cell has", "cells have")} several runs of one seed, for example ` +
      `${repeated[0].slice(0, 2).map((run) => run.name).join(" and ")}: compare their options.` : "");
  byId("prior-adjusted").hidden = !metrics.some(({ place }) => place >= 4);
  byId("differences").hidden = !referenceSeries;
  byId("link-differences").hidden = !referenceSeries;
  byId("about-differences").textContent = `Each method minus ${referenceSeries?.name}, between runs of the same seed: ` +
    "mean ± population deviation. The metric is the one chosen above.";
  byId("left-out").hidden = !study.left_out.length;
  byId("left-out").textContent = `To keep this file small: ${study.left_out.join(" ")}`;
  const shared = byId("shared-options");
  shared.hidden = !study.shared_options.length;
  shared.querySelector("div").replaceChildren(optionList(study.shared_options));
}

function start() {
  setUpTheme();
  setUpChoices();
  setUpMethods();
  drawFacts();
  drawWords();
  addPlot("plot-methods", describeMethods);
  addPlot("plot-cost", describeCost);
  addPlot("plot-curves", describeCurves);
  addPlot("plot-fractions", describeFractions);
  byId("beta").hidden = !ablated.size;
  if (ablated.size) addPlot("plot-beta", describeBeta);
  drawData();
  drawMissing();
  redraw();
}

start();
