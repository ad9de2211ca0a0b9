// The fusion lab: two lists, a fusion method with its weights and constants, and a floor on the fused scores.
import { fixed, fuse, said } from "./pipeline.js";
import { panel, textBox } from "./panel.js";
import { EDGES, dragged, figure } from "./plot.js";
import { VIEWS, apart, choice, escaped, floorText, h, plural, short, slider } from "./view.js";

const MOST_ROWS = 12;
const LONGEST = 36; // characters of a name that fit on a page of 400 pixels; of a longer one its file is shown
const HEIGHT = 30; // pixels of a row: its name above its bar
const NOTHING = "nothing";
const LEGS = ["keyword", "vector"];
const RANKS = { tickvals: Array.from({ length: MOST_ROWS }, (_, n) => n + 1), range: [MOST_ROWS + 0.6, 0.2], showgrid: false };
// How a candidate is drawn: its hue, and the words of the legend.
const FATES = { watched: ["blue", "watched"], passes: ["green", "passes the floor"], drops: ["grey", "below the floor"] };

const placeText = ({ first, last }) => (last > first ? `${first}–${last} tied` : `${first}`);
const watchedAs = (id) => (id.includes(":") ? id.slice(0, id.lastIndexOf(":")) : id);

// The smallest 1, 2 or 5 times a power of ten that is at least the number: the axis stays while the floor moves.
function stepUp(most) {
  if (most <= 0) return 0;
  const unit = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((times) => times * unit).find((end) => end >= most * (1 - 1e-9));
}

function fusionLab(data, model, el) {
  const tall = MOST_ROWS * HEIGHT + 50;
  const ranks = figure(model, tall);
  const scores = dragged(model, "min score", tall, (min_score) => moving({ min_score }), () => ({}), ({ customdata }) => customdata && moving({ chunk: customdata }));
  const planes = h("div", { class: "wb-two wb-ranks" }, ranks.root, scores.root);
  const sliders = h("div", { class: "wb-controls" });
  const rest = h("p", { class: "wb-quiet" });
  let [shown, places, lists, moving] = [null, [], null, () => {}];

  const method = (state) => data.methods.find((one) => one.name === state.method);
  const moved = (state) => Object.fromEntries(Object.entries(method(state).parameters).map(([name, one]) => [name, state[name] ?? one.value]));
  const values = (state) => ({ ...method(state).own, ...moved(state) });
  const isWatched = (id, state) => watchedAs(id) === state.watch;
  const id = (one) => lists.ids[one.row];

  // Another method comes with its own numbers.
  function controls(change, state) {
    const all = {};
    if (data.asks) all.question = textBox("question", (question) => change({ question }));
    all.method = choice("method", data.methods.map((one) => one.name), "", (name) => {
      if (name === state.method) return; // chosen again, it keeps what was moved
      const own = data.methods.find((one) => one.name === name).parameters;
      change({ method: name, ...Object.fromEntries(Object.entries(own).map(([key, one]) => [key, one.value])) });
    });
    all.watch = choice("watch", data.watch, "", (watch) => change({ watch }));
    moving = ({ min_score, chunk }) => (chunk ? change({ chunk }) : change({ min_score: Math.min(1, Math.max(0, min_score)) }));
    const set = all.watch.set;
    all.watch.set = (value) => {
      all.watch.offer([...new Set([...data.watch, value])]);
      set(value);
    };
    return all;
  }
  function parameterSliders(state, change) {
    const name = state.method;
    if (shown?.name !== name) {
      const made = Object.entries(method(state).parameters).map(([key, { label, span, step }]) => [key, slider(label, span, step, 0, (value) => change({ [key]: value }))]);
      shown = { name, made };
      sliders.replaceChildren(...made.map(([, one]) => one.root));
    }
    for (const [key, one] of shown.made) one.set(values(state)[key]);
  }
  function draw(next, state, change) {
    data = next;
    lists = data.lists;
    parameterSliders(state, change);
    places = fuse(method(state), lists, values(state));
    const rows = shownRows(state);
    const groups = Object.entries(FATES).map(([kind, [hue, name]]) => ({ kind, hue, name, some: rows.filter((one) => fate(one, state) === kind) }));
    slopes(rows, groups);
    bars(rows, groups, state);
    rest.textContent = places.length > rows.length ? `The pictures show ${rows.length} of ${places.length} candidates, and a line that ends at the bottom has a later rank. The table has all.` : "";
  }
  const fate = (one, state) => (isWatched(id(one), state) ? "watched" : one.score >= state.min_score ? "passes" : "drops");
  const told = (one) => escaped(`${id(one)}: ${placeText(one)}, ${short(one.score)}`);

  // The rank of each candidate in its legs, at both sides, and after the fusion, in the middle; a tie shares a place.
  function slopes(rows, groups) {
    const end = (leg) => (leg?.rank ? Math.min(leg.rank, MOST_ROWS + 0.5) : null);
    const fused = ({ first }) => {
      const tied = rows.flatMap((other, n) => (other.first === first ? [n + 1] : []));
      return (tied[0] + tied.at(-1)) / 2;
    };
    const traces = groups.map(({ kind, hue, name, some }) => ({
      type: "scatter", mode: "lines+markers", name, hue, line: { width: kind === "watched" ? 4 : 1.5 }, marker: { size: 7 }, hovertemplate: "%{text}<extra></extra>",
      x: some.flatMap(() => [0, 1, 2, null]), y: some.flatMap((one) => [end(one.legs.keyword), fused(one), end(one.legs.vector), null]), text: some.flatMap((one) => Array(4).fill(told(one))),
    }));
    ranks.show(traces, { margin: { ...EDGES, l: 30, r: 30 }, xaxis: { tickvals: [0, 1, 2], ticktext: ["keyword rank", "fused", "vector rank"], range: [-0.15, 2.15] }, yaxis: RANKS });
  }
  // The fused score of each candidate as a bar below its name, and the floor that is dragged over the bars.
  function bars(rows, groups, state) {
    const every = places.map((one) => one.score);
    const ends = [Math.min(0, -stepUp(-Math.min(0, ...every))), stepUp(Math.max(...every, 1e-9))];
    const traces = groups.map(({ hue, name, some }) => ({
      type: "bar", orientation: "h", name, hue, width: 0.36, textposition: "none", hovertemplate: "%{text}<extra></extra>",
      x: some.map((one) => one.score), y: some.map((one) => rows.indexOf(one) + 1.2), customdata: some.map(id), text: some.map(told),
    }));
    const brief = (name) => escaped(name.length > LONGEST ? `…${name.slice(name.lastIndexOf("/"))}` : name);
    const named = (one) => [state.chunk === id(one) ? "▸ " : "", isWatched(id(one), state) ? `<b>${brief(id(one))}</b>` : brief(id(one))].join("");
    const names = { type: "scatter", mode: "text", textposition: "middle right", hoverinfo: "skip", showlegend: false, x: rows.map(() => ends[0]), y: rows.map((_, n) => n + 0.8), text: rows.map(named), customdata: rows.map(id) };
    const ticktext = rows.map((one) => `${one.first}${one.last > one.first ? "=" : ""}`);
    const count = ({ kind }) => places.filter((one) => fate(one, state) === kind).length;
    const counts = groups.filter(count).map((one) => [one.hue, `${one.name}: ${count(one)}`]);
    scores.set(ends, stepUp((ends[1] - ends[0]) / 200), state.min_score, counts);
    scores.show([...traces, names], { barmode: "overlay", xaxis: { title: { text: "fused score", standoff: 6 }, range: ends }, yaxis: { ...RANKS, ticktext } });
  }
  // The watched ones, and the first of the others.
  function shownRows(state) {
    const wanted = places.map((one, place) => [isWatched(id(one), state) ? 0 : 1, place]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return wanted.slice(0, MOST_ROWS).map(([, place]) => place).sort((a, b) => a - b).map((place) => places[place]);
  }
  function sentence(state) {
    if (!places.length) return "Neither list has a candidate.";
    const floor = state.min_score;
    const leaders = places.filter((one) => one.first === 1).map(id);
    const ties = new Set(places.filter((one) => one.last > one.first).map((one) => one.first)).size;
    const told = [
      `${state.method}: ${said(method(state), values(state))}.`,
      `${leaders.join(" = ")} ${leaders.length === 1 ? "is" : "are"} first with ${short(places[0].score)}.`,
      ties === 1 ? "One tie." : `${ties} ties.`,
      `${places.filter((one) => one.score >= floor).length} of ${plural(places.length, "candidate")} pass ${floorText(floor, 0.01)}.`,
    ];
    if (state.watch !== NOTHING) told.push(ofTheWatched(state));
    return told.join(" ");
  }
  function ofTheWatched(state) {
    const best = places.find((one) => isWatched(id(one), state));
    if (!best) return `${state.watch} is in neither list.`;
    const [score, least] = apart(best.score, state.min_score);
    return `${id(best)} is ${placeText(best)}: ${score} ${best.score >= state.min_score ? `≥ ${least}, it passes` : `< ${least}, it is dropped`}.`;
  }
  function tables(state) {
    const head = ["candidate", "place", ...LEGS.flatMap((leg) => [`${leg} rank`, "score", "gives"]), "fused score", `floor ${floorText(state.min_score, 0.01)}`];
    const cells = (leg) => [...(leg?.rank ? [leg.rank, short(leg.score)] : ["–", "–"]), leg ? fixed(leg.part, 4) : "–"];
    const row = (one) => [id(one), placeText(one), ...LEGS.flatMap((leg) => cells(one.legs[leg])), fixed(one.score, 4), one.score >= state.min_score ? "passes" : "dropped"];
    return [[head, ...places.map(row)]];
  }
  function code(state) {
    const numbers = Object.entries(moved(state)).map(([name, value]) => `, ${name}=${value}`).join("");
    return data.code.replace("@method@", state.method).replace("@numbers@", numbers).replace("@min_score@", state.min_score);
  }
  panel(data, model, el, "fusion lab", { controls, body: [sliders, planes, rest], draw, sentence, tables, code });
}

VIEWS.fusion = fusionLab;
