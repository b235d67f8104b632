"use strict";

// The study: the embedded data, unpacked, and the statistics over it. Nothing here touches the page.

const study = JSON.parse(document.getElementById("study").textContent);

const metrics = [
  { name: "Worst group", place: 0 },
  { name: "Average group", place: 1 },
  { name: "All samples", place: 2 },
  { name: "Adjusted average", place: 3 },
  { name: "Worst group, prior-adjusted", place: 4 },
  { name: "Average group, prior-adjusted", place: 5 },
].filter(({ place }) => place < 3 || study.runs.some((run) => resultOf(run, place) !== null));

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Population deviation, as in the tables of `rcap study`. */
function deviation(values) {
  const centre = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - centre) ** 2)));
}

function distinct(values) {
  return [...new Set(values)];
}

function byKey(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return groups;
}

const secondsPlace = Object.fromEntries(study.seconds.map((name, place) => [name, place]));

/** All seconds of a run except those of the scoring run that its method may need. */
function runSeconds(run) {
  return run.seconds[secondsPlace.total] - scoringSeconds(run);
}

function scoringSeconds(run) {
  return run.seconds[secondsPlace.scoring];
}

/** Samples a run trained on, including scoring, plus a fraction for each that went forward only; null: not counted. */
function sampleCost(run) {
  return run.cost ? run.cost[0] + study.forward_part * run.cost[1] : null;
}

/** Methods that ran with several temperatures on the same data and rate are split by temperature. */
function methodsWithBetas() {
  const found = new Set();
  for (const runs of byKey(study.runs, (run) => `${run.dataset}\n${run.rate}\n${run.method}`).values()) {
    if (distinct(runs.map((run) => run.beta)).length > 1) found.add(runs[0].method);
  }
  return found;
}

const ablated = methodsWithBetas();

function seriesName(run) {
  return ablated.has(run.method) && run.beta !== undefined ? `${run.method}, β ${run.beta}` : run.method;
}

study.runs.forEach((run, number) => {
  run.number = number;
  run.series = seriesName(run);
});

/** What a column of a table or a row of a plot stands for: a method, or a method with one β. */
const seriesList = study.methods.flatMap((method) => {
  const runs = study.runs.filter((run) => run.method === method);
  const names = distinct([...runs].sort((a, b) => (a.beta ?? 0) - (b.beta ?? 0)).map((run) => run.series));
  return names.map((name) => ({
    name, method, full: runs.some((run) => run.full), hasRate: runs.some((run) => run.rate !== null),
    beta: runs.find((run) => run.series === name).beta,
  }));
});

/** What others are compared with; of several temperatures, the one nearest to 1. */
const referenceSeries = seriesList.filter((series) => series.method === study.reference && !series.full)
  .sort((a, b) => Math.abs(Math.log(a.beta ?? 1)) - Math.abs(Math.log(b.beta ?? 1)))[0] ?? null;

const cells = byKey(study.runs, (run) => cellKey(run.dataset, run.rate, run.series));

function cellKey(dataset, rate, series) {
  return `${dataset}\n${rate}\n${series}`;
}

/** The runs of one cell of a table; those without a rate are used for every rate. */
function runsOf(dataset, rate, series) {
  return cells.get(cellKey(dataset, series.hasRate ? rate : null, series.name)) ?? [];
}

function ratesOf(dataset) {
  const rates = study.runs.filter((run) => run.dataset === dataset && run.rate !== null).map((run) => run.rate);
  return distinct(rates).sort((a, b) => a - b);
}

/** The rows of the tables: [data set, rate]; the rate is null if no run has one. */
const tableRows = study.datasets.flatMap((dataset) => {
  if (!study.runs.some((run) => run.dataset === dataset)) return [];
  const rates = ratesOf(dataset);
  return rates.length ? rates.map((rate) => [dataset, rate]) : [[dataset, null]];
});

/** A run's result by the index of a metric; null if there is none. */
function resultOf(run, place) {
  return run.accuracy[place] ?? null;
}

/** Mean and deviation of a value over runs; null without any. */
function summarise(runs, valueOf) {
  const values = runs.map(valueOf).filter((value) => value !== null);
  if (!values.length) return null;
  return { mean: mean(values), deviation: deviation(values), count: values.length };
}

/** Result minus that of the reference, for each seed that both ran with. */
function pairedDifferences(runs, references, place) {
  const of = byKey(references, (run) => run.seed);
  return runs.flatMap((run) => {
    const partner = of.get(run.seed)?.[0];
    const [ours, theirs] = [resultOf(run, place), partner ? resultOf(partner, place) : null];
    return ours === null || theirs === null ? [] : [ours - theirs];
  });
}

/** Members that no other beats in both cost and accuracy, the cheapest first. */
function paretoFront(points) {
  const front = [];
  for (const point of [...points].sort((a, b) => a.cost - b.cost || b.accuracy - a.accuracy)) {
    if (!front.length || point.accuracy > front.at(-1).accuracy) front.push(point);
  }
  return front;
}

function samplesSeen(run) {
  const epochs = study.grids[run.at];
  return Array.isArray(run.seen) ? run.seen : epochs.map((epoch) => (epoch + 1) * run.seen);
}

/** Counts of a class at each kept epoch. */
function countsOf(run, group) {
  const counts = run.counts[group];
  return Array.isArray(counts) ? counts : study.grids[run.counts_at].map(() => counts);
}
