// The fusion lab: two lists, a fusion method with its weights and constants, and a floor on the fused scores.
import { fuse, said } from "./pipeline.js";
import { panel, textBox } from "./panel.js";
import { VIEWS, apart, choice, floorText, h, label, plural, short, slider, svg } from "./view.js";

const MOST_ROWS = 16;
const HEIGHT = 17;
const NOTHING = "nothing";
const LEGS = { keyword: [20, 150], vector: [180, 310] };
const [NAMES, SCORES, END] = [328, 600, 840];

const placeText = ({ first, last }) => (last > first ? `${first}–${last} tied` : `${first}`);
const watchedAs = (id) => (id.includes(":") ? id.slice(0, id.lastIndexOf(":")) : id);

// The smallest 1, 2 or 5 times a power of ten that is at least the number: the axis stays while the floor moves.
function stepUp(most) {
  if (most <= 0) return 0;
  const unit = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((times) => times * unit).find((end) => end >= most * (1 - 1e-9));
}

function fusionLab(data, model, el) {
  const plane = svg("svg", { class: "wb-slopes", role: "img" });
  const sliders = h("div", { class: "wb-controls" });
  const rest = h("p", { class: "wb-quiet" });
  let [shown, places, lists, high] = [null, [], null, 0];
  // A narrow place has the names and the scores; the ranks of the legs are in the table.
  function fit() {
    const left = plane.clientWidth && plane.clientWidth < 640 ? NAMES - 12 : 0;
    plane.setAttribute("viewBox", `${left} 0 ${END + 20 - left} ${high}`);
  }
  new ResizeObserver(fit).observe(plane);

  const method = (state) => data.methods.find((one) => one.name === state.method);
  const moved = (state) => Object.fromEntries(Object.entries(method(state).parameters).map(([name, one]) => [name, state[name] ?? one.value]));
  const values = (state) => ({ ...method(state).own, ...moved(state) });
  const isWatched = (id, state) => watchedAs(id) === state.watch;
  const id = (one) => lists.ids[one.row];

  // Another method comes with its own numbers.
  function controls(change) {
    const all = {};
    if (data.asks) all.question = textBox("question", (question) => change({ question }));
    all.method = choice("method", data.methods.map((one) => one.name), "", (name) => {
      const own = data.methods.find((one) => one.name === name).parameters;
      change({ method: name, ...Object.fromEntries(Object.entries(own).map(([key, one]) => [key, one.value])) });
    });
    all.watch = choice("watch", data.watch, "", (watch) => change({ watch }));
    all.min_score = slider("min score", [0, 1], 0.005, 0, (min_score) => change({ min_score }));
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
    const ranks = places.flatMap((one) => Object.values(one.legs).map((leg) => leg?.rank ?? 0));
    const height = Math.max(10, rows.length, ...ranks.filter((rank) => rank <= MOST_ROWS));
    const y = (rank) => 34 + (Math.min(rank, height + 1) - 1) * HEIGHT;
    const scores = places.map((one) => one.score);
    const ends = [Math.min(0, -stepUp(-Math.min(0, ...scores))), stepUp(Math.max(state.min_score, ...scores, 1e-9))];
    const x = (score) => SCORES + ((score - ends[0]) / (ends[1] - ends[0])) * (END - SCORES);
    const middle = (one) => rows.reduce((sum, other, place) => sum + (other.first === one.first ? place + 1 : 0), 0) / rows.filter((other) => other.first === one.first).length;
    const marks = rows.flatMap((one, place) => candidate(one, place + 1, middle(one), { y, x, state, change }));
    const title = (text, at, anchor) => label(text, at, 14, anchor, "wb-quiet");
    const heads = Object.entries(LEGS).flatMap(([leg, [from, to]]) => [title(`${leg} rank`, from, "start"), title("fused", to, "end")]);
    const line = svg("line", { class: "wb-line", x1: x(state.min_score), x2: x(state.min_score), y1: 22, y2: y(height) + 8 });
    const ticks = ends.map((end) => label(short(end), x(end), y(height) + 22, "middle", "wb-quiet"));
    const solid = "Solid lines and dots pass the floor; dotted lines and crosses do not.";
    rest.textContent = `${solid} ${places.length > rows.length ? `The picture shows ${rows.length} of ${places.length} candidates; the table has all.` : ""}`;
    high = y(height) + 28;
    fit();
    plane.setAttribute("aria-label", sentence(state));
    plane.replaceChildren(...heads, title("fused score; the line is the floor", (SCORES + END) / 2), ...ticks, ...marks, line);
  }
  // The watched ones, and the first of the others.
  function shownRows(state) {
    const wanted = places.map((one, place) => [isWatched(id(one), state) ? 0 : 1, place]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return wanted.slice(0, MOST_ROWS).map(([, place]) => place).sort((a, b) => a - b).map((place) => places[place]);
  }
  function candidate(one, row, middle, { y, x, state, change }) {
    const passes = one.score >= state.min_score;
    const kind = `${passes ? "wb-passes" : "wb-drops"} ${isWatched(id(one), state) ? "wb-watched" : ""}`;
    const slopes = Object.entries(LEGS).flatMap(([leg, [from, to]]) => {
      if (!one.legs[leg]) return [];
      const start = y(one.legs[leg].rank);
      return [svg("line", { class: `wb-slope ${kind}`, x1: from, y1: start, x2: to, y2: y(middle) }), svg("circle", { class: `wb-end ${kind}`, cx: from, cy: start, r: 3 })];
    });
    const name = id(one).length > 36 ? `…${id(one).slice(-35)}` : id(one);
    const text = svg("text", { x: NAMES, y: y(row) + 4, class: `wb-name ${kind}` }, `${one.first}${one.last > one.first ? "=" : ""} ${name}`);
    const tie = one.last > one.first ? [svg("line", { class: "wb-tie", x1: NAMES - 6, x2: NAMES - 6, y1: y(row) - HEIGHT / 2 + 1, y2: y(row) + HEIGHT / 2 - 1 })] : [];
    const told = svg("title", {}, `${id(one)}: ${placeText(one)}, ${short(one.score)}${passes ? "" : ", below the floor"}`);
    const stem = svg("line", { class: "wb-stem", x1: x(0), x2: x(one.score), y1: y(row), y2: y(row) });
    const [cx, cy] = [x(one.score), y(row)];
    const dot = passes ? svg("circle", { class: "wb-mark wb-passes", cx, cy, r: 4.5 }) : svg("path", { class: "wb-mark wb-drops", d: `M${cx - 4},${cy - 4}l8,8m0,-8l-8,8` });
    const box = state.chunk === id(one) ? [svg("rect", { class: "wb-chosen", x: cx - 8, y: cy - 8, width: 16, height: 16 })] : [];
    const select = () => change({ chunk: state.chunk === id(one) ? "" : id(one) });
    return [...slopes, ...tie, svg("g", { class: "wb-pick", onclick: select }, told, text, stem, dot, ...box)];
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
    const head = ["candidate", "place", ...Object.keys(LEGS).flatMap((leg) => [`${leg} rank`, "score", "gives"]), "fused score", `floor ${floorText(state.min_score, 0.01)}`];
    const cells = (leg) => (leg ? [leg.rank, short(leg.score), leg.part.toFixed(4)] : ["–", "–", "–"]);
    const row = (one) => [id(one), placeText(one), ...Object.keys(LEGS).flatMap((leg) => cells(one.legs[leg])), one.score.toFixed(4), one.score >= state.min_score ? "passes" : "dropped"];
    return [[head, ...places.map(row)]];
  }
  function code(state) {
    const numbers = Object.entries(moved(state)).map(([name, value]) => `, ${name}=${value}`).join("");
    return data.code.replace("@method@", state.method).replace("@numbers@", numbers).replace("@min_score@", state.min_score);
  }
  panel(data, model, el, "fusion lab", { controls, body: [sliders, plane, rest], draw, sentence, tables, code });
}

VIEWS.fusion = fusionLab;
