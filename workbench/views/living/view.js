// The living view: an answer as a list with dots beside it, the pipeline that made it, and what a floor lets
// pass. Everything that a setting changes is computed here, by pipeline.js; only new facts are asked of Python.
import { asks, fixed, general, parameters, returned, run, said } from "./pipeline.js";
import { DISTRIBUTIONS, EDGES, comparedBy, figure, numberBox, thresholdPlot, thresholdsOf, unpacked, upright } from "./plot.js";

const VERSION = 3;
const LISTED = 100; // so many candidates are in a list; the right file and the selected one always
const FLOORS = 41; // so many floors make a curve
const MOST_STAGES = 8; // so many are shown without a fold

// An element. Text is always text: a name or a note with tags in it shows them.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
// Changes what `root` shows. What had the focus has it again: itself, or what now has its words, near it or
// elsewhere; else `root` has it.
export function keepingFocus(root, change) {
  const words = (one) => one.getAttribute("aria-label") || one.textContent;
  const held = root.querySelector(":focus");
  const holders = [];
  for (let one = held; one && one !== root; one = one.parentElement) holders.push(one.parentElement);
  change();
  if (!held || held.isConnected) return;
  const near = holders.find((one) => one.isConnected);
  const every = [near, root].flatMap((one) => [...one.querySelectorAll(held.localName)]);
  (every.find((one) => words(one) === words(held)) ?? root).focus();
}
// A button that does nothing now. One that was disabled would lose the focus.
export function idle(button, yes) {
  mark(button, "aria-disabled", yes);
}
// Only what is new is written: each write costs the browser a layout.
export function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
export function mark(node, name, value) {
  if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}
function stand(node, left) {
  if (node.wbLeft !== left) node.style.left = node.wbLeft = left;
}
function hide(node, yes) {
  if (node.hidden !== yes) node.hidden = yes;
}

// Numbers and words
const ENDS = new Map([[Infinity, "inf"], [-Infinity, "-inf"]]);
export const short = (value) => (Number.isFinite(value) ? general(value, 4) : (ENDS.get(value) ?? "absent"));
export const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

// Two numbers with as many decimals as it takes to tell them apart, three at least.
export function apart(one, other) {
  for (let digits = 3; digits < 17; digits++) {
    const pair = [fixed(one, digits), fixed(other, digits)];
    if (one === other || pair[0] !== pair[1]) return pair;
  }
  return [String(one), String(other)];
}

// A text for plotly.js, which reads tags.
export const escaped = (text) => text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);

function broken(path) {
  return path.split("/").flatMap((part, place) => (place ? ["/", h("wbr"), part] : [part]));
}

// The words of a question that are worth a mark, as the language divides them.
const SEGMENTS = new Intl.Segmenter(undefined, { granularity: "word" });
const COMMON = new Set("about and are but can did does for from had has have her his how its not should that the their this was were what when where which who why will with would you your".split(" "));
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;
function wordsOf(question) {
  const all = [...SEGMENTS.segment(question.toLowerCase())].filter((one) => one.isWordLike).map((one) => one.segment);
  return [...new Set(all)].filter((word) => word.length > (UNSPACED.test(word) ? 1 : 2) && !COMMON.has(word));
}

// The text around the first of the words, each of them marked. Words are not cut where there are spaces.
function marked(text, words, size = 180) {
  const spaced = (place) => {
    const space = text.indexOf(" ", place);
    return space >= 0 && space < place + 30 ? space : place;
  };
  const whole = (word) => (UNSPACED.test(word) ? word : `(?<![\\p{L}\\p{N}])${word}(?![\\p{L}\\p{N}])`);
  const found = words.length ? new RegExp(`(${words.map(whole).join("|")})`, "giu") : /(?!)/;
  const first = text.search(found);
  const start = first > size / 2 ? spaced(first - Math.ceil(size / 3)) : 0;
  const end = start + size < text.length ? spaced(start + size) : text.length;
  const shown = text.slice(start, end).split(found).map((part, place) => (place % 2 ? h("mark", {}, part) : part));
  return [start ? "… " : "", ...shown, end < text.length ? " …" : ""];
}

// A chunk's heading, if it begins with one, and its text without front matter.
function readable(text) {
  const body = text.replace(/^---\n[^]*?\n---\n/, "").trim();
  const heading = /^#+ +(.+)/.exec(body)?.[1] ?? "";
  return { heading, body: (heading ? body.slice(body.indexOf("\n") + 1) : body).replace(/\s+/g, " ").trim() };
}

// What a threshold compared, as the line that says why a candidate was dropped.
function reason(step, values, compared) {
  if (!compared.length) return `dropped by the ${said(step, values)}`;
  const told = compared.map(({ measure, value, limit }) => {
    if (!Number.isFinite(value)) return `no ${measure}`;
    const above = step.count !== undefined;
    const [a, b] = above ? [value, limit] : apart(value, limit);
    return `${measure.replaceAll("_", " ")} ${a} ${above ? ">" : "<"} ${b}`;
  });
  return `${step.slot.replaceAll("_", " ")}: ${told.join(" and ")}`;
}

// One system's answers to every question under the settings: computed once for all that is shown.
function answers(data, entry, settings) {
  const states = entry.traces.map((trace) => run(entry.pipeline, trace, settings));
  const outcome = { hits: 0, questions: 0, right: 0, returned: 0, silent: 0, controls: 0 };
  for (const [place, state] of states.entries()) {
    const { target } = data.questions[place];
    const rows = returned(state);
    if (target === null) {
      outcome.controls += 1;
      outcome.silent += rows.length === 0;
      continue;
    }
    const right = rows.filter((row) => entry.traces[place].files[row] === target).length;
    outcome.questions += 1;
    outcome.hits += right > 0;
    outcome.right += right;
    outcome.returned += rows.length;
  }
  return { states, outcome };
}

function outcomeWords(outcome, floor) {
  const precision = outcome.returned
    ? `${outcome.right} of ${outcome.returned} returned chunks are of the right file (precision ${fixed(100 * (outcome.right / outcome.returned), 0)} %)`
    : "no question returns anything";
  const silent = outcome.controls
    ? `and nothing is returned for ${outcome.silent} of ${outcome.controls} unanswerable questions.`
    : "and no question is known to be unanswerable.";
  return `At ${floor}, ${outcome.hits} of ${outcome.questions} questions hit, ${precision}, ${silent}`;
}

function reachWords(one, floor) {
  if (!one.asked) return `no ${one.leg} leg`;
  if (one.unknown) return `${one.leg} leg alone: ${one.unknown}`;
  const [score, least] = apart(one.score, floor);
  const verdict = one.score >= floor ? `≥ ${least}` : `< ${least}, out of reach`;
  return `${one.leg} leg alone: at most ${one.formula ? `${one.formula} = ` : ""}${score} ${verdict}`;
}

function reachSentences(reaches, floor) {
  const [{ unknown }] = reaches;
  if (unknown && reaches.every((one) => one.asked && one.unknown === unknown)) return [`What one leg alone can reach ${unknown}.`];
  return reaches.map((one) => `${sentenceCase(reachWords(one, floor))}.`);
}

const sentenceCase = (text) => text[0].toUpperCase() + text.slice(1);

// The fate of the right file in one answer, as a sentence.
function fateWords(entry, question, trace, state) {
  if (question.target === null) {
    const count = returned(state).length;
    return count ? `Nothing in the memory answers it, and ${plural(count, "chunk")} ${count === 1 ? "comes" : "come"} back.` : "Nothing is returned, which is right.";
  }
  const kept = returned(state);
  const at = kept.findIndex((row) => trace.files[row] === question.target);
  if (at >= 0) return `${question.target} is returned at place ${at + 1}.`;
  const best = state.order.find((row) => trace.files[row] === question.target);
  if (best === undefined) return `${question.target} is not among the candidates: no leg brought it.`;
  return `${question.target} is not returned. ${why(entry, state, best)}.`;
}

function why(entry, state, row) {
  const place = state.dropped[row];
  return sentenceCase(reason(entry.pipeline.steps[place], state.values[place], state.compared.get(place)?.(row) ?? []));
}

// The pipeline as a picture: each stage with the number of candidates that leave it, and where the file is lost.
// Of many stages, those are folded that drop nothing and put nothing in order.
function pipelinePicture() {
  const fold = h("button", { "aria-expanded": "false", onclick: () => unfold(!open) });
  const end = h("li", { class: "wb-fold" }, fold);
  const root = h("ol", { class: "wb-flow", "aria-label": "the stages of the search" }, end);
  let [boxes, quiet, open] = [[], [], false];
  function unfold(yes) {
    open = yes;
    const folded = boxes.length > MOST_STAGES ? quiet : [];
    for (const [at, one] of boxes.entries()) hide(one.root, !open && folded.includes(at));
    hide(end, !folded.length);
    mark(fold, "aria-expanded", open);
    put(fold, open ? "fewer stages" : `${folded.length} more stage${folded.length === 1 ? "" : "s"}`);
  }
  function box(at, name, count, told, kind = "", words = "", share = 0) {
    if (!boxes[at]) {
      const parts = { b: h("b"), span: h("span"), em: h("em") };
      boxes[at] = { ...parts, root: h("li", {}, parts.b, " ", parts.span, parts.em) };
      end.before(boxes[at].root);
    }
    const parts = boxes[at];
    mark(parts.root, "class", kind);
    mark(parts.root, "title", told);
    mark(parts.root, "style", `--left: ${100 * share}%`); // how many candidates are left, as a bar
    put(parts.b, name);
    put(parts.span, String(count));
    put(parts.em, words);
  }
  return {
    root,
    show(entry, question, trace, state) {
      const mine = trace.files.flatMap((file, row) => (file === question.target ? [row] : []));
      const cuts = [...new Set(state.dropped)].filter((place) => place >= 0);
      const lastCut = mine.length && mine.every((row) => state.dropped[row] >= 0) ? Math.max(...mine.map((row) => state.dropped[row])) : -1;
      // The way of the file: its best rank in each leg, its place in the order, and no further than where it is lost.
      const all = trace.files.length;
      quiet = [];
      const best = (ranks) => Math.min(...mine.map((row) => (Number.isFinite(ranks?.[row]) ? ranks[row] : Infinity)));
      const placed = (rank) => (rank < Infinity ? `file at ${rank}` : "");
      let at = 0;
      box(at++, "question", "", question.question, question.target ? "with" : "");
      for (const [name, brought, asked] of trace.legs) {
        const ranks = state.columns[`${name}_rank`];
        const rank = best(ranks);
        const words = ranks && question.target && rank === Infinity ? "without the file" : placed(rank);
        box(at++, `${name} leg`, brought, asked ?? "not asked", `leg ${rank < Infinity ? "with" : ""}`, words, brought / Math.max(1, all));
      }
      const brought = trace.cut ? `${all} of ${trace.cut}` : all;
      const none = question.target && !mine.length;
      box(at++, "candidates", brought, "every chunk that a leg brought", none ? "lost" : mine.length ? "with" : "", trace.cut ? "the best ones: all are too many for a page" : none ? "the file is not among them" : "", all && 1);
      let left = all;
      let way = mine.length ? "with" : question.target ? "past" : "";
      for (const [place, step] of entry.pipeline.steps.entries()) {
        const dropped = state.dropped.filter((one) => one === place).length;
        left -= dropped;
        const cutting = cuts.includes(place) || "thresholds" in step || "count" in step;
        const kind = place === lastCut ? "lost" : way;
        if (kind === "lost") way = "past";
        const words = kind === "lost" ? "the file is lost here" : "by" in step && way === "with" ? placed(1 + state.order.findIndex((row) => mine.includes(row))) : "";
        if (!dropped && kind !== "lost" && !("by" in step) && step.column !== state.by && !("thresholds" in step)) quiet.push(at);
        box(at++, step.slot.replaceAll("_", " "), cutting ? `${left} left` : "", said(step, state.values[place]), kind, words, cutting ? left / Math.max(1, all) : 0);
      }
      const found = returned(state).findIndex((row) => trace.files[row] === question.target);
      box(at++, "returned", left, "the answer", found >= 0 ? "found" : way, found >= 0 ? `the file at place ${found + 1}` : "", left / Math.max(1, all));
      for (const { root: gone } of boxes.splice(at)) gone.remove();
      unfold(open);
    },
  };
}

// The list: what is returned first, then what was dropped, in grey, with the line that says why.
// A candidate that is selected shows its whole text, and what `more` says of it.
function answerList(select, more) {
  const [measure, range] = [h("span", {}), h("span", {})];
  const head = h("div", { class: "wb-axis", "aria-hidden": "true" }, measure, range);
  const list = h("ol", { class: "wb-list", "aria-label": "candidates, best first", "aria-description": "The arrow keys go from one to the next.", onkeydown: step, onfocusin: ({ target }) => stop([target]) });
  const root = h("div", { class: "wb-answer" }, head, list);
  let [shown, target, fates] = [null, null, ""];
  let items = [];

  function itemOf(data, trace, question, row) {
    const { path, lines, text } = data.chunks[trace.rows[row]];
    const { heading, body } = readable(text);
    const words = wordsOf(question.question);
    const parts = {
      place: h("span", { class: "wb-place" }),
      why: h("small", { class: "wb-why" }),
      told: h("p", {}, ...marked(body, words)),
      more: h("div", { class: "wb-of", onclick: (event) => event.stopPropagation() }),
      dot: h("i", { class: "wb-dot" }),
      floor: h("i", { class: "wb-floor" }),
      value: h("span", { class: "wb-value" }),
    };
    const right = path === question.target ? [h("span", { class: "wb-right" }, data.view === "explorer" ? "this file" : "right file")] : [];
    const file = h("b", {}, ...broken(path));
    const name = heading ? [h("span", { class: "wb-heading" }, heading)] : [];
    const pressed = (event) => ["Enter", " "].includes(event.key) && (event.preventDefault(), select(row));
    parts.button = h("span", { role: "button", tabindex: -1, onkeydown: pressed }, parts.place, file, h("small", {}, lines), " ", ...right);
    const body_ = h("div", {}, h("div", {}, parts.button), ...name, parts.told, parts.why, parts.more);
    const track = h("div", { class: "wb-track" }, parts.floor, parts.dot);
    const item = h("li", { onclick: () => select(row) }, body_, track, parts.value);
    return { item, body, words, open: false, ...parts };
  }

  // The list is one stop of the Tab key: the first of `wanted` that is in it, or its first candidate.
  const buttons = () => [...list.querySelectorAll("[role='button']")];
  function stop(wanted) {
    const all = buttons();
    const one = [...wanted, ...all.filter(({ tabIndex }) => tabIndex === 0), all[0]].find((some) => all.includes(some));
    for (const each of all) each.tabIndex = each === one ? 0 : -1;
  }
  function step(event) {
    const all = buttons();
    const at = all.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    all[to]?.focus();
  }

  function open(one, yes, row) {
    if (one.open !== yes) one.told.replaceChildren(...marked(one.body, one.words, yes ? Infinity : 180));
    one.told.tabIndex = yes ? 0 : -1; // a long text is read with the keyboard
    mark(one.button, "aria-expanded", yes);
    if (one.open || yes) one.more.replaceChildren(...(yes ? more(row) : []));
    one.open = yes;
  }

  return {
    root,
    show(data, entry, question, trace, state, floor, selected, span = null) {
      const [last, before] = [shown, fates];
      if (last !== trace || target !== question.target) items = [];
      [shown, target] = [trace, question.target];
      const scores = state.columns[state.by];
      const finite = scores.filter(Number.isFinite);
      // A threshold stands on the axis of its own quantity, or on none.
      const line = entry.column === state.by && Number.isFinite(floor) ? floor : null;
      const shared = line !== null && span ? span : [0, -Infinity]; // the axis of the distribution beside it
      const low = Math.min(...shared.slice(0, 1), ...finite, ...(line === null ? [] : [line]));
      const high = Math.max(shared[1], ...finite, ...(line === null ? [] : [line]), low + 1e-9);
      const at = (value) => `${(100 * (value - low)) / (high - low)}%`;
      const rows = [...returned(state), ...state.order.filter((row) => state.dropped[row] !== -1)];
      fates = JSON.stringify(rows.map((row) => [trace.ids[row], state.dropped[row]]));
      const listed = rows.filter((row, n) => n < LISTED || trace.files[row] === question.target || row === selected);
      let count = 0;
      for (const row of listed) {
        items[row] ??= itemOf(data, trace, question, row);
        const { item, ...parts } = items[row];
        open(items[row], row === selected, row);
        const kept = state.dropped[row] === -1;
        if (kept) count += 1;
        mark(item, "class", `${kept ? "" : "wb-dropped"} ${row === selected ? "wb-selected" : ""}`);
        put(parts.place, kept ? `${count}. ` : "");
        put(parts.why, kept ? "" : why(entry, state, row));
        put(parts.value, short(scores[row]));
        stand(parts.dot, at(scores[row]));
        hide(parts.dot, !Number.isFinite(scores[row]));
        hide(parts.floor, line === null);
        if (line !== null) stand(parts.floor, at(line));
      }
      const order = listed.map((row) => items[row].item);
      if (listed.length < rows.length) order.push(h("li", { class: "wb-empty" }, `… and ${rows.length - listed.length} more`));
      if (order.length !== list.children.length || order.some((one, n) => list.children[n] !== one)) list.replaceChildren(...order);
      stop([list.querySelector(":focus"), items[selected]?.button]);
      if (last !== trace && fates !== before) list.scrollTop = 0; // another answer is read from its top
      put(measure, state.by.replaceAll("_", " "));
      put(range, `, from ${short(low)} to ${short(high)}${line === null ? "" : `; the line is the floor, ${short(line)}`}`);
      if (!order.length) list.replaceChildren(h("li", { class: "wb-empty" }, "No leg brought a candidate."));
    },
  };
}

// The result in three numbers. What changes flashes once: blue for a gain, orange for a loss.
function tiles() {
  const names = ["questions hit", "precision", "unanswerable, nothing returned"];
  const items = names.map((name) => ({ value: h("b"), name, last: null }));
  const root = h("div", { class: "wb-tiles" }, ...items.map((one) => h("div", {}, one.value, h("small", {}, one.name))));
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  return {
    root,
    show(outcome) {
      const precision = outcome.returned ? outcome.right / outcome.returned : null;
      const numbers = [
        [`${outcome.hits} of ${outcome.questions}`, outcome.hits],
        [precision === null ? "–" : `${fixed(100 * precision, 0)} %`, precision],
        [outcome.controls ? `${outcome.silent} of ${outcome.controls}` : "–", outcome.silent],
      ];
      for (const [n, [text, number]] of numbers.entries()) {
        const one = items[n];
        put(one.value, text);
        if (one.last !== null && number !== one.last && !still) {
          const hue = getComputedStyle(root).getPropertyValue(number > one.last ? "--blue" : "--orange");
          one.value.parentNode.animate([{ boxShadow: `inset 0 0 0 2px ${hue}` }, { boxShadow: "inset 0 0 0 2px transparent" }], 700);
        }
        one.last = number;
      }
    },
  };
}

// What a system states about its questions: Python's figure, with the floor where it is now.
function reliability(model) {
  const told = h("figcaption", {});
  const drawing = figure(model, 250);
  const root = h("figure", { class: "wb-reliability" }, drawing.root, told);
  return {
    root,
    show({ diagram, span, axis }, floor) {
      root.hidden = !diagram;
      if (!diagram) return;
      const { data, layout } = diagram.figure;
      // On the axis of the distribution above, so that the two lines at the floor are one.
      const xaxis = { ...layout.xaxis, title: { text: axis, standoff: 6 }, range: span, automargin: false };
      const yaxis = { ...layout.yaxis, range: [-0.05, 1.05], title: { text: "share answerable", standoff: 4 }, automargin: false };
      drawing.show(data, { ...layout, xaxis, yaxis, margin: EDGES, height: 250, shapes: [upright(floor)] });
      put(told, `The share that is answerable, by what is stated; true statements are on the diagonal, and the line is the floor. ${diagram.sentence}`);
    },
  };
}

// Answered against refused: a point for each floor, and the one that costs least at the user's price of a wrong answer.
function tradeOff(model, take) {
  const told = h("figcaption");
  const drawing = figure(model, 250);
  let [price, points, now, drawn, cheapest, again] = [1, [], null, "", null, () => {}];
  const cost = ({ outcome }) => outcome.questions - outcome.hits + price * (outcome.controls - outcome.silent);
  const worth = slider("cost of a wrong answer, in missed answers", [0, 10], 0.5, price, (next) => ((price = next), draw()));
  const button = h("button", { onclick: () => take(cheapest.floor) }, "take the floor of the dot");
  const root = h("details", { class: "wb-more" }, h("summary", {}, "answered against refused"), h("figure", { class: "wb-reliability" }, drawing.root, told), worth.root, button);

  function draw() {
    const { questions, controls } = now.outcome;
    cheapest = points.reduce((best, one) => (cost(one) < cost(best) ? one : best), now);
    const trace = (some, more) => ({ x: some.map((one) => one.outcome.hits), y: some.map((one) => one.outcome.silent), text: some.map((one) => `floor ${short(one.floor)}`), hovertemplate: "%{text}: %{x} hit, %{y} get nothing<extra></extra>", hue: "blue", ...more });
    drawing.show([
      trace(points, { mode: "lines" }), trace([now], { mode: "markers", hue: "red", marker: { size: 15, symbol: "circle-open", line: { width: 2 } } }), trace([cheapest], { mode: "markers", marker: { size: 8 } }),
    ], { xaxis: { title: { text: `questions of ${questions} that hit` }, range: [0, questions * 1.03] }, yaxis: { title: { text: `unanswerable of ${controls} with no result` }, range: [0, controls * 1.06] } });
    const sentence = (one) => `At ${short(one.floor)}, ${plural(questions - one.outcome.hits, "answer")} missed and ${plural(controls - one.outcome.silent, "unanswerable question")} answered: cost ${short(cost(one))}`;
    put(told, `${sentence(now)} (ring). ${sentence(cheapest)}, the least of ${plural(points.length, "floor")} (dot). The same questions choose this floor and judge it; for other questions, use workbench calibrate.`);
    idle(button, cheapest === now);
  }
  // One floor a frame: the page stays quick while the curve grows.
  function grow(key, answered, floors) {
    if (key !== drawn) return;
    if (!floors.length) return root.removeAttribute("aria-busy");
    points.push({ floor: floors[0], outcome: answered(floors[0]) });
    draw();
    requestAnimationFrame(() => grow(key, answered, floors.slice(1)));
  }
  // `answered` gives the outcome at another floor, with the other settings as they are in `key`.
  function show(key, [low, high], floor, outcome, answered) {
    now = { floor, outcome };
    again = () => show(key, [low, high], floor, outcome, answered);
    root.hidden = !outcome.controls || !outcome.questions;
    if (root.hidden || !root.open) return;
    if (key === drawn) return draw();
    [drawn, points] = [key, []];
    root.setAttribute("aria-busy", "true");
    grow(key, answered, Array.from({ length: FLOORS }, (_, n) => low + (n / (FLOORS - 1)) * (high - low)));
  }
  root.addEventListener("toggle", () => again());
  return { root, show };
}

// A slider and a number box with one label; `change` hears the value, and `done` when it stays.
export function slider(label, ends, step, value, change, done = () => {}) {
  const range = h("input", { type: "range", min: ends[0], max: ends[1], step, "aria-label": label });
  const number = numberBox(label, ends, step, (next) => (set(next), change(next), done()));
  function set(next) {
    range.value = next;
    number.set(next);
  }
  range.addEventListener("input", () => {
    number.set(Number(range.value));
    change(Number(number.box.value));
  });
  range.addEventListener("change", () => done());
  set(value);
  return { root: h("label", {}, label, " ", range, number.box, number.refused), set };
}

// A choice among `options`: values that are shown as they are, or pairs of a value and its words.
export function choice(label, options, value, change) {
  const select = h("select", { "aria-label": label, onchange: () => change(select.value) });
  const item = (one) => (Array.isArray(one) ? h("option", { value: one[0] }, one[1]) : h("option", { value: one }, one));
  select.append(...options.map(item));
  select.value = value;
  const offer = (some) => {
    if (some.length !== select.options.length) select.replaceChildren(...some.map(item));
  };
  return { root: h("label", {}, label, " ", select), offer, set: (next) => (select.value = next) };
}

export function table(rows) {
  const [head, ...body] = rows;
  const number = (cell) => (/^[\d\s.,/%–=-]+$/.test(cell) ? "wb-number" : null);
  const cells = (row, tag) => row.map((cell, place) => h(cell === "" ? "td" : place ? tag : "th", { scope: place ? (tag === "th" ? "col" : null) : tag === "th" ? "col" : "row", class: number(cell) }, cell));
  const made = h("table", {}, h("thead", {}, h("tr", {}, ...cells(head, "th"))), h("tbody", {}, ...body.map((row) => h("tr", {}, ...cells(row, "td")))));
  return h("div", { class: "wb-wide", tabindex: 0, role: "group", "aria-label": "table" }, made);
}

export function folded(label, write) {
  const details = h("details", {}, h("summary", {}, label));
  const refresh = () => details.open && details.replaceChildren(details.firstChild, write());
  details.addEventListener("toggle", refresh);
  return { root: details, refresh };
}

// A control for each number of a pipeline, but for its floor: a slider where the page computes what follows.
function parameterControls(pipeline, elsewhere, moved, alone, change, done) {
  return pipeline.steps.flatMap((one) =>
    Object.entries(one.parameters).map(([name, { value, span: ends, here }]) => {
      const key = `${one.slot}.${name}`;
      if (elsewhere.includes(key)) return "";
      if (!here && alone) return h("div", { class: "wb-fixed" }, `${key} = ${short(value)}: another value asks the index again, which takes Python`);
      if (!here) {
        const number = numberBox(key, [-Infinity, Infinity], Number.isInteger(value) ? 1 : 0.01, (next) => (number.set(next), change(key, next), done?.()));
        number.set(value);
        return h("label", { class: "wb-fixed" }, `${key} `, number.box, " asks the index again ", number.refused);
      }
      const top = Math.max(value, ends[1] > 100 ? 4 * (value || 1) : ends[1]);
      return slider(key, [ends[0], top], Number.isInteger(value) && top > 3 ? 1 : 0.01, parameters(one, moved)[name], (next) => change(key, next), done).root;
    }),
  );
}

// The threshold lab: `data` has the questions, the chunks, and for each system its pipeline and its traces.
function thresholdLab(data, model, el) {
  for (const entry of data.systems) prepare(data, entry);
  const entryOf = (settings) => data.systems.find((one) => one.pipeline.system === settings.system) ?? data.systems[0];
  const state = settingsOf(model);
  const entry = () => entryOf(state);
  const moved = () => ({ ...(state.moved ?? {}), [entry().floor]: state.min_score });
  const place = () => Math.max(0, data.questions.findIndex((one) => one.question === state.question));
  let found = null;
  let good = null; // the settings of what is shown
  let waiting = false;
  let refused = ""; // why Python does not take a setting, until another one is tried

  const status = h("p", { role: "status", class: "wb-status" });
  const told = { fate: h("b"), outcome: h("span"), reach: h("span") };
  const explained = h("details", { class: "wb-words" }, h("summary", {}, "more"), told.outcome, told.reach);
  const numbers = tiles();
  const flow = pipelinePicture();
  const list = answerList((row) => {
    const chunk = entry().traces[place()].ids[row];
    change({ chunk: chunk === state.chunk ? "" : chunk });
  }, (row) => stepLines(entry().pipeline, found.states[place()], row, moved()));
  const kinds = choice("distribution", Object.keys(DISTRIBUTIONS), "", (distribution) => change({ distribution }));
  const planes = h("div", { class: "wb-planes" });
  let [plots, version] = [[], 0];
  const diagram = reliability(model);
  const trade = tradeOff(model, (min_score) => change({ min_score }));
  const source = folded("copy as code", () => h("pre", { tabindex: 0 }, code()));
  const bar = h("div", { class: "wb-controls" });
  const more = h("details", { class: "wb-more" }, h("summary", {}, "more settings"));
  const twin = folded("table", () => table(tableRows()));
  const root = h("div", { class: "wb-living", role: "group", "aria-label": "threshold lab", tabindex: -1 }, bar, flow.root, numbers.root, h("div", { class: "wb-two" }, list.root, h("div", {}, planes, kinds.root, diagram.root)), status, trade.root, more, twin.root, source.root);

  function change(next) {
    const system = next.system !== undefined && next.system !== state.system;
    Object.assign(state, next);
    refused = "";
    if (system) {
      state.moved = isAlone(model, el) ? entry().moved : {};
      state.min_score = entry().own;
      controls();
    }
    push(model, state); // before anything is asked: Python answers for these settings
    draw();
  }
  const controls = () => keepingFocus(root, putControls);
  function putControls() {
    const { pipeline, span, step, floor } = entry();
    const parts = [];
    if (data.systems.length > 1) parts.push(choice("system", data.systems.map((one) => one.pipeline.system), state.system, (system) => change({ system })));
    parts.push(choice("question", data.questions.map((one) => one.question), state.question, (question) => change({ question })));
    bar.replaceChildren(...parts.map((one) => one.root));
    bar.system = state.system;
    bar.follow = () => {
      bar.querySelectorAll("select").forEach((select, n, every) => (select.value = n === every.length - 1 ? state.question : state.system));
    };
    const thresholds = thresholdsOf(entry());
    const elsewhere = [floor, ...thresholds.map((one) => one.key)];
    const others = parameterControls(pipeline, elsewhere, state.moved ?? {}, model.alone, (key, value) => change({ moved: { ...state.moved, [key]: value } }));
    const named = (key) => (key === floor ? "min score" : key.slice(key.indexOf(".") + 1).replaceAll("_", " "));
    plots = thresholds.map((one) => thresholdPlot(model, named(one.key), (value) => change(one.key === floor ? { min_score: value } : { moved: { ...state.moved, [one.key]: value } })));
    const either = plots.length > 1 ? [h("p", { class: "wb-quiet" }, "A candidate passes the floor with either of them.")] : [];
    planes.replaceChildren(...plots.map((one) => one.root), ...either);
    const added = thresholds.some((one) => one.key === floor) ? [] : [slider("min score", span, step, state.min_score, (min_score) => change({ min_score })).root];
    more.replaceChildren(more.firstChild, ...added, ...others);
  }
  function draw() {
    const settings = moved();
    const now = entry();
    const other = Object.keys(now.moved).some((key) => !(key in settings)); // the data were computed with more settings
    if (other || asks(now.pipeline, settings)) return ask(settings);
    root.removeAttribute("aria-busy");
    good = { ...state };
    found = answers(data, now, settings);
    const [question, trace, answer] = [data.questions[place()], now.traces[place()], found.states[place()]];
    const floor = state.min_score;
    const reach = Object.keys(state.moved ?? {}).length ? [] : reachSentences(now.reaches, floor);
    put(told.outcome, outcomeWords(found.outcome, atFloor()));
    put(told.reach, ` ${reach.join(" ")}`);
    put(told.fate, `“${question.question}”: ${fateWords(now, question, trace, answer)}`);
    if (refused) put(status, refused);
    else if (told.fate.parentNode !== status) status.replaceChildren(told.fate, explained);
    numbers.show(found.outcome);
    flow.show(now, question, trace, answer);
    list.show(data, now, question, trace, answer, now.floor.startsWith(`${now.cut}.`) ? floor : NaN, trace.ids.indexOf(state.chunk), now.span);
    distributions(now, settings);
    diagram.show(now, floor);
    trade.show(JSON.stringify([state.system, state.moved]), now.span, floor, found.outcome, (value) => answers(data, now, { ...settings, [now.floor]: value }).outcome);
    for (const one of [twin, source]) one.refresh();
  }
  // A distribution is drawn again where something else than its threshold has moved.
  function distributions(now, settings) {
    const thresholds = thresholdsOf(now);
    const others = Object.entries(settings).filter(([key]) => thresholds.every((one) => one.key !== key));
    for (const [n, one] of thresholds.entries()) {
      const limit = settings[one.key] ?? one.own;
      plots[n].show(JSON.stringify([state.system, version, others]), one, () => comparedBy(data, now, found.states, one), limit, state.distribution);
    }
    kinds.set(state.distribution);
  }
  // The floor, by its name where the pictures are about other thresholds, and what else was moved.
  function atFloor() {
    const { floor, step } = entry();
    const name = thresholdsOf(entry()).some((one) => one.key === floor) ? "" : "min score ";
    const others = Object.entries(state.moved ?? {}).map(([key, value]) => `${key} ${short(value)}`);
    return `${name}${floorText(state.min_score, step)}${others.length ? ` with ${others.sort().join(", ")}` : ""}`;
  }
  function code() {
    const settings = Object.entries(state.moved ?? {}).map(([name, value]) => `"${name}=${value}"`);
    const lines = settings.length ? ["from workbench.retrieval.settings import with_settings", "", entry().source, `pipeline = with_settings(pipeline, [${settings.join(", ")}])`] : ["", entry().source];
    return ["import workbench as wb", ...lines, `pipeline = pipeline.asking(min_score=${Number(state.min_score.toPrecision(6))})`, "[evaluated] = wb.evaluate(questions, [pipeline], index)", "print(evaluated.overall, evaluated.silent)"].join("\n");
  }
  function ask(settings) {
    if (waiting) return; // what moved meanwhile is asked when the answer is there
    root.setAttribute("aria-busy", "true");
    if (isAlone(model, el)) {
      root.removeAttribute("aria-busy");
      if (good) Object.assign(state, good);
      push(model, state);
      if (good) draw();
      status.textContent = "This setting leads to another search, and that takes Python: run the notebook's cells again, or ask `workbench explore`.";
      return;
    }
    waiting = true;
    model.send({ ask: { system: state.system, settings } });
  }
  function tableRows() {
    const { outcome } = found;
    return [
      ["", `at ${atFloor()}`],
      ["questions with a hit", `${outcome.hits} of ${outcome.questions}`],
      ["returned chunks of the right file", `${outcome.right} of ${outcome.returned}`],
      ["precision", outcome.returned ? `${fixed(100 * (outcome.right / outcome.returned), 1)} %` : "–"],
      ["unanswerable, nothing returned", `${outcome.silent} of ${outcome.controls}`],
    ];
  }

  follow(model, state, () => {
    refused = "";
    if (state.system !== bar.system) controls();
    bar.follow();
    draw();
  });
  model.on?.("change:data", () => {
    data = dataOf(model);
    for (const one of data.systems) prepare(data, one);
    version += 1;
    waiting = false;
    controls();
    draw();
  });
  model.on?.("msg:custom", ({ problem }) => {
    waiting = false;
    root.removeAttribute("aria-busy");
    put(status, (refused = problem));
  });
  state.system ??= data.systems[0].pipeline.system;
  state.question ??= data.questions[0]?.question;
  state.min_score ??= entry().own;
  controls();
  draw();
  el.replaceChildren(root);
}

export function floorText(value, step) {
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const text = fixed(value, decimals);
  return Math.abs(Number(text) - value) < 1e-9 ? text : short(value);
}

// What follows from the chunks of a trace is not written twice.
function prepare(data, entry) {
  if (typeof entry.traces === "number") entry.traces = data.systems[entry.traces].traces; // those of that system
  for (const trace of entry.traces) {
    trace.columns ??= {};
    trace.recorded ??= {};
    trace.spots ??= [];
    trace.ties = trace.rows; // the chunks are in the order of their ids
    trace.files = trace.rows.map((place) => data.chunks[place].path);
    trace.ids = trace.rows.map((place) => data.chunks[place].id);
  }
}

// A prediction: a choice that is closed before the answer is shown.
function prediction(data, model, el) {
  const state = settingsOf(model);
  const status = h("p", { role: "status", class: "wb-status" });
  const button = h("button", { onclick: () => state.guess !== null && change({ committed: true }) }, "That is my guess");
  const group = `wb-${Math.random()}`;
  const radios = data.choices.map((one) => h("input", { type: "radio", name: group, value: one, onchange: () => change({ guess: one }) }));
  const options = data.choices.map((one, place) => h("label", {}, radios[place], ` ${one}`));
  function change(next) {
    Object.assign(state, next);
    push(model, state);
    draw();
  }
  function verdict() {
    if (!state.committed) return "";
    if (state.truth === null) return `You expect ${state.guess}. Read on.`;
    return `It is “${state.truth}”${state.guess === state.truth ? ", as you expected." : `; you expected “${state.guess}”.`}`;
  }
  function draw() {
    for (const radio of radios) Object.assign(radio, { checked: radio.value === state.guess, disabled: state.committed });
    idle(button, state.guess === null || state.committed);
    status.textContent = verdict();
  }
  follow(model, state, draw);
  draw();
  el.replaceChildren(h("section", { class: "wb-living" }, h("fieldset", { class: "wb-choices" }, h("legend", {}, data.question), ...options), button, status));
}

// Whether no Python answers: on a page, and in a notebook without its kernel.
export const isAlone = (model, el) => model.alone || el.closest(".jupyter-widgets-disconnected");

// The data of a model, for one view to change: a kernel sends them as a text.
export function dataOf(model) {
  const data = model.get("data");
  return typeof data === "string" ? JSON.parse(data) : structuredClone(data);
}

// The settings of a model: each is a value of its own, which Python and other widgets set too.
export const settingsOf = (model) => Object.fromEntries(model.get("names").map((name) => [name, model.get(name)]));
export const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
export function push(model, state) {
  for (const name of Object.keys(state)) if (!same(model.get(name), state[name])) model.set(name, state[name]);
  model.save_changes();
}
// Several that are set together are followed once.
export function follow(model, state, draw) {
  let due = false;
  function take() {
    due = false;
    const next = settingsOf(model);
    if (same(next, state)) return;
    Object.assign(state, next);
    draw();
  }
  const hear = () => due || ((due = true), queueMicrotask(take));
  model.on?.("change", hear);
}

export const VIEWS = { threshold: thresholdLab, explorer, prediction };

function render({ model, el }) {
  // What is pressed in a widget is the widget's: JupyterLab would take its arrow keys and letters.
  el.addEventListener("focusin", ({ target }) => target.setAttribute("data-lm-suppress-shortcuts", "true"));
  // It also keeps Enter from an input, which would commit what was typed. The input keeps the keyboard.
  el.addEventListener("keydown", ({ key, target }) => {
    if (key !== "Enter" || !target.matches("input")) return;
    target.blur();
    target.focus();
  });
  begin(model, el);
  drawn.add(el);
  return () => drawn.delete(el);
}

// A notebook's page can show a widget before Python has sent its data: nothing is drawn until they come.
function begin(model, el) {
  const data = dataOf(model);
  if (data.version === VERSION) return VIEWS[data.view](data, model, el);
  if (data.version !== undefined) {
    const told = `This picture was written by version ${data.version} of the view, and this is version ${VERSION}. Make it again.`;
    return el.replaceChildren(h("p", { role: "alert" }, told));
  }
  const come = () => {
    model.off("change:data", come);
    begin(model, el);
  };
  model.on("change:data", come);
}

// Renders what a page holds beside a place for it, without Python: packed JSON, as a text.
async function place(box) {
  const packed = atob(box.querySelector("script").textContent);
  const state = await unpacked(Uint8Array.from(packed, (sign) => sign.charCodeAt(0)));
  still(JSON.parse(state), box.querySelector("div"));
}

// Renders data and settings that nobody answers for.
function still(state, el) {
  render({ model: { ...held(state), save_changes() {}, send() {}, alone: true }, el });
}

// The data and the settings of a page as a model has them.
const held = (state) => ({
  get: (name) => (name === "data" ? state.data : name === "names" ? Object.keys(state.settings) : state.settings[name]),
  set: (name, value) => (state.settings[name] = value),
});
