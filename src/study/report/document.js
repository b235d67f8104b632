// Building blocks of the page: elements, numbers as text, colours and marks of methods.

/** An element; attributes whose value is false or undefined are left out, functions are listeners. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function byId(id) {
  return document.getElementById(id);
}

const grouped = new Intl.NumberFormat("en-GB");

function percent(part, digits = 1) {
  return (100 * part).toFixed(digits);
}

function points(part) {
  const text = Math.abs(100 * part).toFixed(1);
  if (text === "0.0") return "0.0";
  return (part < 0 ? "−" : "+") + text;
}

function secondsText(seconds) {
  return seconds >= 1000 ? grouped.format(Math.round(seconds)) : seconds.toFixed(seconds < 10 ? 2 : 1);
}

/** 0.9 as "90 %"; 0.125 keeps its digits. */
function rateText(rate) {
  return rate === null ? "–" : `${Number((100 * rate).toFixed(4))} %`;
}

function plural(count, word, words = `${word}s`) {
  return `${grouped.format(count)} ${count === 1 ? word : words}`;
}

// The colours, marks and dashes of the SVG figures (src/study/chart_look.cpp): six colours that can be told apart with
// the usual kinds of colour blindness, and thirteen marks, so that no method is identified by colour alone.
const palettes = {
  light: ["#0062a3", "#d55e00", "#009e73", "#c4649a", "#cc8a00", "#3fa2dd"],
  dark: ["#2f8fd0", "#e8731a", "#16b88a", "#d98cb8", "#e69f00", "#7cc4f0"],
};
const neutral = { light: "#1f2328", dark: "#e6edf3" };
const marks = ["circle", "square", "triangle-up", "diamond", "x", "triangle-down", "circle-open", "square-open", "cross",
  "triangle-up-open", "diamond-open", "triangle-down-open", "star"];
const dashes = ["solid", "dash", "dot", "dashdot"];
const markShapes = {
  "circle": "M12 7a5 5 0 1 1-10 0a5 5 0 1 1 10 0z",
  "square": "M2.5 2.5h9v9h-9z",
  "triangle-up": "M7 1.5l6 10.5h-12z",
  "diamond": "M7 1l6 6l-6 6l-6-6z",
  "x": "M4 1.5l3 3l3-3l2.5 2.5l-3 3l3 3l-2.5 2.5l-3-3l-3 3l-2.5-2.5l3-3l-3-3z",
  "triangle-down": "M7 12.5l-6-10.5h12z",
  "cross": "M5 1.5h4v3.5h3.5v4h-3.5v3.5h-4v-3.5h-3.5v-4h3.5z",
  "star": "M7 0.5l2 4.4l4.6 0.5l-3.4 3.2l1 4.7l-4.2-2.4l-4.2 2.4l1-4.7l-3.4-3.2l4.6-0.5z",
  "hexagram": "M7 0.5l2 3.2h3.8l-1.9 3.3l1.9 3.3h-3.8l-2 3.2l-2-3.2h-3.8l1.9-3.3l-1.9-3.3h3.8z",
};

/** The reference comes first, the others in the order of tables; "full" is neutral. */
const looks = new Map();
{
  const full = new Set(seriesList.filter((series) => series.full).map((series) => series.method));
  const pruned = study.methods.filter((method) => !full.has(method));
  const first = pruned.filter((method) => method === study.reference);
  const others = pruned.filter((method) => method !== study.reference);
  [...first, ...others].forEach((method, i) => looks.set(method, {
    colour: i % palettes.light.length, mark: marks[i % marks.length], dash: dashes[i % dashes.length],
  }));
  for (const method of full) looks.set(method, { colour: null, mark: "hexagram", dash: "solid" });
}

function currentTheme() {
  return document.documentElement.dataset.theme;
}

function colourOf(method) {
  const { colour } = looks.get(method);
  return colour === null ? neutral[currentTheme()] : palettes[currentTheme()][colour];
}

const swatches = new Map();

/** The mark of a method as a small picture, in the colour of `--method-N`. */
function swatch(method) {
  if (!swatches.has(method)) swatches.set(method, drawSwatch(method));
  return swatches.get(method).cloneNode(true);
}

function drawSwatch(method) {
  const { colour, mark } = looks.get(method);
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  picture.setAttribute("viewBox", "0 0 14 14");
  picture.setAttribute("aria-hidden", "true");
  picture.classList.add("swatch");
  const shape = document.createElementNS(space, "path");
  shape.setAttribute("d", markShapes[mark.replace("-open", "")]);
  const paint = `var(--method-${colour ?? "full"})`;
  shape.style.fill = mark.endsWith("-open") ? "none" : paint;
  shape.style.stroke = mark.endsWith("-open") ? paint : "none";
  shape.style.strokeWidth = "2";
  picture.append(shape);
  return picture;
}

/** Colours of the methods as CSS properties: a change of theme needs no new elements. */
function applyTheme(theme) {
  const root = document.documentElement;
  root.dataset.theme = theme;
  palettes[theme].forEach((colour, i) => root.style.setProperty(`--method-${i}`, colour));
  root.style.setProperty("--method-full", neutral[theme]);
}

function styleValue(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
