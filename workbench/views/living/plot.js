// Figures of plotly.js, and the threshold that is dragged in one of them.
import { compiled } from "./pipeline.js";
import { escaped, h, mark, put, short } from "./view.js";

export const EDGES = { l: 54, r: 16, t: 6, b: 44 };
const BINS = 50;
const MOST_MARKS = 100; // of a group; a strip of more shows evenly chosen ones

// plotly.js comes once a page: with a script of the page, or with the hidden widget of a notebook.
export const unpacked = (bytes) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
async function carried(model) {
  const carrier = await model.widget_manager.get_model(model.get("carrier").replace("IPY_MODEL_", ""));
  const made = { exports: {} };
  new Function("module", "exports", await unpacked(carrier.get("plotly")))(made, made.exports);
  return made.exports;
}
const loaded = new Promise((done) => (document.readyState === "complete" ? done() : addEventListener("load", done)));
function plotlyOf(model) {
  if (model.widget_manager) return (globalThis.workbenchPlotly ??= carried(model));
  return loaded.then(() => globalThis.Plotly);
}

// The colours of a page, light or dark, for a figure that stands in it.
const themed = new Set();
new MutationObserver(() => themed.forEach((told) => told())).observe(document.body ?? document.documentElement, { attributeFilter: ["data-jp-theme-light", "class"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => themed.forEach((told) => told()));

function layoutOf(root, { xaxis, yaxis, ...rest }) {
  const { color, fontFamily } = getComputedStyle(root);
  const axis = (one) => ({ fixedrange: true, zeroline: false, ticks: "outside", gridcolor: "rgba(128,128,128,0.25)", linecolor: "rgba(128,128,128,0.6)", ...one, title: { ...one.title, font: { size: 13 } } });
  return {
    margin: EDGES, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color, family: fontFamily, size: 13 },
    showlegend: false, dragmode: false, hovermode: "closest", hoverlabel: { align: "left" },
    xaxis: axis(xaxis), yaxis: axis(yaxis), ...rest,
  };
}

// A line at a threshold, in the figure itself.
export const upright = (at) => ({ type: "line", x0: at, x1: at, y0: 0, y1: 1, yref: "paper", line: { color: "#c44f00", width: 2 } });

// `show` draws traces at the next frame, in the colours of the page: a trace's `hue` is the name of one.
// `clicked` hears a mark, and `exported` gives what an image has beside the figure: its legend, and lines that are elements of the page.
export function figure(model, height, exported = () => ({}), clicked = null) {
  const root = h("div", { class: "wb-figure", style: `height: ${height}px` });
  let [plotly, wanted, due, wide] = [null, null, false, 0];
  const camera = { name: "toImage", title: "save as PNG", click: () => {
    const { data, layout } = root;
    plotly.downloadImage({ data, layout: { ...layout, paper_bgcolor: getComputedStyle(root).getPropertyValue("--paper"), showlegend: true, margin: { ...EDGES, t: 40 }, legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, ...exported() } }, { format: "png", filename: "workbench", width: 900, height: Math.max(420, layout.height + 60), scale: 2 });
  } };
  function draw() {
    due = false;
    wide = root.clientWidth;
    if (!plotly || !wanted || !wide) return;
    const look = getComputedStyle(root);
    const traces = wanted.traces.map(({ hue, ...one }) => {
      const colour = look.getPropertyValue(`--${hue}`).trim();
      return { ...one, marker: { color: colour, ...one.marker }, line: { color: colour, width: 2, ...one.line }, fillcolor: `${colour}33` };
    });
    camera.icon = plotly.Icons.camera;
    const tall = wanted.layout.height ?? height;
    root.style.height = `${tall}px`;
    const layout = { ...layoutOf(root, wanted.layout), width: wide, height: tall }; // `react` keeps an earlier size
    const config = { displaylogo: false, typesetMath: false, modeBarButtons: [[camera]], displayModeBar: "hover" };
    plotly.react(root, traces, layout, config);
    if (clicked && !root.wbHeard) root.on("plotly_click", ({ points }) => clicked(points[0]));
    root.wbHeard = true;
  }
  const soon = () => due || ((due = true), requestAnimationFrame(draw));
  plotlyOf(model).then((found) => {
    plotly = found;
    if (plotly) soon();
    else root.replaceChildren("This page does not have plotly.js, which draws the distribution.");
  });
  themed.add(() => root.isConnected && soon());
  new ResizeObserver(() => root.clientWidth !== wide && soon()).observe(root);
  return {
    root,
    show(traces, layout) {
      wanted = { traces, layout };
      soon();
    },
  };
}

// The thresholds of the stage that cuts: what each compares, and the number that a person can set.
export function thresholdsOf(entry) {
  const place = entry.pipeline.steps.findIndex((one) => one.slot === entry.cut);
  const step = entry.pipeline.steps[place];
  return (step?.thresholds ?? []).flatMap((one, n) => {
    if (one.limit[0] !== "parameter") return [];
    const key = `${step.slot}.${one.limit[1]}`;
    const { low, high, step: by, axis } = entry.axes[n];
    return [{ key, place, step, value: one.value, own: step.parameters[one.limit[1]].value, span: [low, high], by, axis }];
  });
}

const GROUPS = [["target", "blue"], ["other", "orange"], ["control", "purple"]];
const OF_CHUNKS = { target: "right file", other: "other files", control: "unanswerable" };
const OF_QUESTIONS = { target: "questions with an answer", control: "unanswerable questions" };

// What reaches a threshold, by group: a mark for each thing that the stage compares, a candidate or a question.
export function comparedBy(data, entry, states, threshold) {
  const names = entry.of_questions ? OF_QUESTIONS : OF_CHUNKS;
  const groups = GROUPS.filter(([kind]) => names[kind]).map(([kind, hue]) => ({ kind, hue, name: names[kind], marks: [] }));
  const by = Object.fromEntries(groups.map((one) => [one.kind, one.marks]));
  for (const [place, state] of states.entries()) {
    const { target, question } = data.questions[place];
    const scope = { columns: state.columns, parameters: state.values[threshold.place] };
    const [value, among] = [threshold.value, threshold.step.among ?? 1].map((one) => compiled(one, scope));
    for (const [row, dropped] of state.dropped.entries()) {
      if ((dropped !== -1 && dropped < threshold.place) || !among(row)) continue;
      const file = entry.of_questions ? "" : entry.traces[place].files[row];
      const kind = target === null ? "control" : entry.of_questions || file === target ? "target" : "other";
      by[kind].push({ value: Number(value(row)), file, question });
      if (entry.of_questions) break;
    }
  }
  return groups.filter((one) => one.marks.length);
}
export const passing = (marks, limit) => marks.reduce((count, one) => count + (one.value >= limit), 0);

// The lines of a text beside a mark, which has to fit into a narrow figure: ended at a space or behind a slash.
const lines = (text) => text.match(/.{1,40}(?:\s|(?<=\/)|$)|.{1,40}/gu) ?? [];
const hover = (one) => [one.file, `“${one.question}”`].flatMap(lines).map(escaped).join("<br>");

export const DISTRIBUTIONS = {
  histogram({ marks }, [low, high]) {
    const bins = Array.from({ length: BINS }, () => []);
    for (const one of marks) if (one.value >= low && one.value <= high) bins[Math.min(BINS - 1, Math.floor(((one.value - low) / (high - low)) * BINS))].push(one);
    const at = (bin) => low + ((high - low) * bin) / BINS;
    const told = (bin, n) => `${short(at(n))} to ${short(at(n + 1))}: ${bin.length} of ${marks.length}${bin.slice(0, 2).map((one) => `<br>${hover(one)}`).join("")}${bin.length > 2 ? "<br>…" : ""}`;
    return { type: "scatter", mode: "lines", fill: "tozeroy", line: { shape: "hvh", width: 1.5 }, x: bins.map((_, n) => at(n + 0.5)), y: bins.map((bin) => (100 * bin.length) / marks.length), text: bins.map(told) };
  },
  "share that passes"({ marks }, [low, high]) {
    const every = marks.map((one) => one.value).filter(Number.isFinite).sort((a, b) => a - b);
    const x = Array.from({ length: MOST_MARKS + 1 }, (_, n) => low + ((high - low) * n) / MOST_MARKS);
    const counts = x.map((limit) => every.filter((value) => value >= limit).length);
    return { type: "scatter", mode: "lines", x, y: counts.map((count) => (100 * count) / marks.length), text: counts.map((count, n) => `${count} of ${marks.length} pass ${short(x[n])}`) };
  },
  strip({ marks }, _, place) {
    const every = marks.filter((one) => Number.isFinite(one.value)).sort((a, b) => a.value - b.value);
    const some = every.length <= MOST_MARKS ? every : Array.from({ length: MOST_MARKS }, (_, n) => every[Math.floor(((n + 0.5) * every.length) / MOST_MARKS)]);
    return { type: "scatter", mode: "markers", x: some.map((one) => one.value), y: some.map((_, n) => -place + 0.6 * (((n * 0.618) % 1) - 0.5)), text: some.map((one) => `${short(one.value)}<br>${hover(one)}`), marker: { opacity: 0.7, size: 7 } };
  },
};

const UP = { histogram: "% of the group", "share that passes": "% that passes", strip: "" };

// A figure with a threshold over its axis. The line is the thumb of a slider, and the number beside it is the same value.
// `exported` gives what an image of it has besides.
export function dragged(model, label, height, change, exported = () => ({}), clicked = null) {
  const legend = h("div", { class: "wb-legend" });
  const line = h("input", { type: "range", class: "wb-threshold", "aria-label": label });
  const below = h("i", { class: "wb-below" });
  const drawing = figure(model, height, () => ({ shapes: [upright(Number(line.value))], ...exported() }), clicked);
  const plane = h("div", { class: "wb-dragged", style: `--tall: ${height - EDGES.t - EDGES.b}px` }, drawing.root, below, line);
  const root = h("figure", { class: "wb-plot" }, h("figcaption"), plane);
  let [number, ends] = [null, ""];
  line.addEventListener("input", () => change(Number(Number(line.value).toPrecision(6))));
  // The ends of the axis and the step, the limit, and the entries of the legend: a hue and a text each.
  function set([low, high], step, limit, entries) {
    if (ends !== (ends = `${[low, high, step]}`)) {
      Object.assign(line, { min: low, max: high, step });
      number = numberBox(label, [low, high], step, change);
      root.firstChild.replaceChildren(h("label", {}, `${label} `, number.box, number.refused), legend);
    }
    line.value = limit;
    number.set(limit);
    mark(line, "aria-valuetext", short(limit));
    below.style.setProperty("--at", Math.min(1, Math.max(0, (limit - low) / (high - low))));
    while (legend.children.length > entries.length) legend.lastChild.remove();
    for (const [n, [hue, text]] of entries.entries()) {
      const item = legend.children[n] ?? legend.appendChild(h("span"));
      mark(item, "class", `wb-${hue}`);
      put(item, text);
    }
  }
  return { root, set, show: drawing.show };
}

// One threshold over the distribution of what it is compared with.
export function thresholdPlot(model, label, change) {
  const plot = dragged(model, label, 250, change);
  let [groups, key] = [[], ""];
  return {
    root: plot.root,
    show(drawn, threshold, compare, limit, kind) {
      const same = key === (key = `${drawn}${kind}`);
      if (!same) groups = compare();
      const some = (marks) => (kind === "strip" && marks.length > MOST_MARKS ? `, ${MOST_MARKS} drawn` : "");
      const entries = groups.map(({ hue, name, marks }) => [hue, `${name}: ${passing(marks, limit)} of ${marks.length} pass${some(marks)}`]);
      plot.set(threshold.span, threshold.by, limit, entries);
      if (same) return;
      const traces = groups.map((one, n) => ({ name: `${one.name} (${one.marks.length})`, hue: one.hue, hovertemplate: "%{fullData.name}<br>%{text}<extra></extra>", ...DISTRIBUTIONS[kind](one, threshold.span, n) }));
      plot.show(traces, { xaxis: { title: { text: threshold.axis, standoff: 6 }, range: threshold.span }, yaxis: { title: { text: UP[kind], standoff: 4 }, rangemode: "tozero", ...(kind === "strip" && { showticklabels: false, ticks: "" }) } });
    },
  };
}

// A box for a number, and the sentence for what it does not take: then the last number stays.
export function numberBox(label, [low, high], step, change) {
  const box = h("input", { class: "wb-box", role: "spinbutton", inputmode: "decimal", autocomplete: "off", "aria-label": `${label}, as a number` });
  const refused = h("small", { class: "wb-refused", role: "alert" });
  const rounded = (value) => Number(value.toPrecision(6));
  const ends = [rounded(low), rounded(high)];
  let last = low;
  if (Number.isFinite(low)) mark(box, "aria-valuemin", ends[0]);
  if (Number.isFinite(high)) mark(box, "aria-valuemax", ends[1]);
  const taken = (text) => text !== "" && Number.isFinite(Number(text)) && Number(text) >= ends[0] && Number(text) <= ends[1];
  const inside = (value) => Math.min(high, Math.max(low, value));
  function set(value) {
    box.value = last = rounded(value);
    mark(box, "aria-valuenow", last);
    put(refused, "");
  }
  function take() {
    const typed = box.value.trim();
    if (taken(typed)) return put(refused, ""), change(inside(Number(typed)));
    const pointed = typed.replace(",", ".");
    const allowed = Number.isFinite(high) ? `a number from ${ends[0]} to ${ends[1]}` : "a number";
    put(refused, `${typed ? `“${typed}”` : "An empty box"} is not taken, and ${last} stays. Write ${taken(pointed) ? pointed : allowed}.`);
    box.value = last;
  }
  box.addEventListener("change", take);
  // A text, unlike an input of numbers, keeps what is typed with a comma. So the arrow keys are ours.
  box.addEventListener("keydown", (event) => {
    const sign = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!sign) return;
    event.preventDefault();
    const next = Number(box.value) + sign * step;
    if (Number.isFinite(next)) box.value = rounded(inside(next));
    take();
  });
  return { box, refused, set };
}
