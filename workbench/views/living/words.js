// The words of a question in FTS5, and the chunks of a file: what the index can find, and what it holds.
import { panel, textBox } from "./panel.js";
import { VIEWS, choice, h, label, plural, svg, table } from "./view.js";

const MOST_DRAWN = 16;
const [WIDTH, LEVEL, LEFT] = [820, 44, 112];
const has = (one, other) => [...one.words].every((bit, place) => bit === "0" || other.words[place] === "1");
const size = ({ words }) => words.replaceAll("0", "").length;

// A set of words is a text such as "101", with a 1 for each word in it. The lattice: single words below, all on top.
function lattice(found) {
  const n = found.words.length;
  const rarest = [...found.words.keys()].sort((a, b) => found.words[a].rows - found.words[b].rows).slice(0, MOST_DRAWN);
  const drawn = [...found.words.keys()].filter((place) => rarest.includes(place));
  const kept = (one) => drawn.some((place) => one.words[place] === "1");
  const bySize = (count) => found.sets.filter((one) => size(one) === count);
  const complete = Array.from({ length: n }, (_, level) => [level ? `${level + 1} words` : "1 word", bySize(level + 1)]);
  if (found.complete) return { drawn, levels: complete };
  const best = found.best && size(found.best) < n - 1 ? [[`${size(found.best)} words`, [found.best]]] : [];
  const butOne = bySize(n - 1).filter((one) => drawn.some((place) => one.words[place] === "0"));
  return { drawn, levels: [["1 word", bySize(1).filter(kept)], ...best, ["all but one", butOne], [`all ${n} words`, bySize(n)]] };
}

function microscope(data, model, el) {
  const plane = svg("svg", { class: "wb-slopes", role: "img" });
  const boxes = h("fieldset", { class: "wb-words" });
  const told = h("p", { class: "wb-status" });
  const [rest, sent] = [h("p", { class: "wb-quiet" }), h("div", {})];
  let [shown, found] = [null, null];

  const controls = (change) => ({
    question: textBox("question", (question) => change({ question })),
    letters: choice("words of", Object.keys(data.ways), "", (letters) => change({ letters })),
  });
  // How many chunks have all of the words whose boxes are checked: counted from the patterns of words.
  function count() {
    const chosen = [...boxes.querySelectorAll("input")].map((box) => (box.checked ? "1" : "0")).join("");
    const some = found.patterns.filter((one) => has({ words: chosen }, one));
    const rows = some.reduce((sum, one) => sum + one.rows, 0);
    const names = found.words.filter((_, place) => chosen[place] === "1").map((word) => word.text);
    told.textContent = names.length ? `${names.join(" AND ")} finds ${rows} of ${found.size} chunks.` : "No word is checked.";
    for (const node of plane.querySelectorAll("[data-words]")) node.classList.toggle("wb-on", node.dataset.words === chosen);
  }
  function draw(next, state) {
    data = next;
    found = data.ways[state.letters];
    if (shown === found) return;
    shown = found;
    const box = (word) => h("label", {}, h("input", { type: "checkbox", checked: "", onchange: count }), ` ${word.text}`);
    boxes.replaceChildren(h("legend", {}, "joined with AND"), ...found.words.map(box));
    boxes.hidden = told.hidden = !found.words.length;
    picture();
    count();
    rest.textContent = found.words.length > MOST_DRAWN ? `The picture shows the ${MOST_DRAWN} rarest of ${found.words.length} words.` : "";
    sent.replaceChildren(h("h3", {}, "What the systems send to FTS5"), table(data.sent));
  }
  function picture() {
    const { drawn, levels } = lattice(found);
    const column = (WIDTH - LEFT) / Math.max(1, drawn.length);
    const top = 22 + levels.length * LEVEL;
    const nodes = levels.map(([, sets], level) => sets.map((one, n) => ({ one, x: LEFT + ((n + 0.5) / sets.length) * column * drawn.length, y: top - 22 - level * LEVEL })));
    const isBest = (one) => one.words === found.best?.words;
    const edges = nodes.slice(1).flatMap((upper, level) => upper.flatMap((high) => nodes[level]
      .filter((low) => has(low.one, high.one) && (size(high.one) - size(low.one) === 1 || isBest(low.one) || isBest(high.one)))
      .map((low) => svg("line", { class: "wb-edge", x1: low.x, y1: low.y, x2: high.x, y2: high.y }))));
    const names = (one) => found.words.filter((_, place) => one.words[place] === "1").map((word) => word.text).join(" AND ");
    const circles = nodes.flat().map(({ one, x, y }) => {
      const kind = isBest(one) ? "wb-best" : one.rows ? "wb-some" : "wb-none";
      const choose = () => {
        boxes.querySelectorAll("input").forEach((box, place) => (box.checked = one.words[place] === "1"));
        count();
      };
      return svg("g", { class: `wb-node ${kind}`, "data-words": one.words, onclick: choose }, svg("title", {}, `${names(one)}: ${plural(one.rows, "chunk")}`), svg("circle", { cx: x, cy: y, r: 12 }), label(String(one.rows), x, y + 4));
    });
    const quiet = (text, x, y, anchor) => label(text, x, y, anchor, "wb-quiet");
    const rows = levels.map(([text], level) => quiet(text, LEFT - 12, top - 18 - level * LEVEL, "end"));
    const base = top + 100;
    const bars = drawn.flatMap((place, n) => {
      const word = found.words[place];
      const [x, height] = [LEFT + (n + 0.5) * column, (70 * word.rows) / Math.max(1, found.size)];
      const wide = Math.min(60, column * 0.7);
      const text = word.text.length * 7 > column ? `${word.text.slice(0, Math.max(2, Math.floor(column / 7) - 1))}…` : word.text;
      return [
        svg("rect", { class: word.floored ? "wb-floored" : "wb-count", x: x - wide / 2, y: base - height, width: wide, height }, svg("title", {}, `${word.text}: ${plural(word.rows, "chunk")}, IDF ${word.idf}`)),
        quiet(String(word.rows), x, base - height - 4), label(text, x, base + 16), quiet(word.idf, x, base + 32),
      ];
    });
    const half = svg("line", { class: "wb-half", x1: LEFT, x2: WIDTH, y1: base - 35, y2: base - 35 });
    const axis = [["half of the chunks", -31], ["chunks", 0], ["word", 16], ["IDF", 32]].map(([text, below]) => quiet(text, LEFT - 12, base + below, "end"));
    plane.setAttribute("viewBox", `0 0 ${WIDTH + 8} ${base + 40}`);
    plane.setAttribute("aria-label", found.sentence);
    plane.replaceChildren(...edges, ...circles, ...rows, half, ...axis, ...bars);
  }
  const keys = [["wb-some", "chunks match"], ["wb-none", "nothing matches"], ["wb-best", "after the best drop"], ["wb-floored", "IDF at its floor: no effect on the order"]];
  const legend = h("p", { class: "wb-legend" }, ...keys.map(([kind, text]) => h("span", {}, svg("svg", { width: 14, height: 12, class: "wb-slopes" }, svg("rect", { class: `wb-key ${kind}`, width: 12, height: 12 })), ` ${text}`)));
  const sentence = (state) => (data.problem ? data.sentence : data.ways[state.letters].sentence);
  panel(data, model, el, "microscope", { controls, body: [boxes, told, plane, legend, rest, sent], draw, sentence, tables: (state) => [data.ways[state.letters].table], code: (state) => data.ways[state.letters].code });
}

function fileChunks(data, model, el) {
  const list = h("div", { class: "wb-chunks" });
  const controls = (change) => ({ file: textBox("file", (file) => change({ file }), data.files) });
  function draw(next, state) {
    data = next;
    const chosen = data.chunks.some((one) => one.id === state.chunk) ? state.chunk : null;
    list.replaceChildren(...data.chunks.map((one, place) => {
      const mine = one.id === chosen;
      const parts = one.parts.map(([text, kinds]) => h("span", { class: kinds }, text));
      return h("details", { open: mine || (!chosen && !place) ? "" : null, "aria-current": mine ? "true" : null }, h("summary", {}, one.line, mine ? " (selected)" : ""), h("pre", { tabindex: 0 }, ...parts));
    }));
  }
  panel(data, model, el, "chunks of a file", { controls, body: [list], draw, tables: () => [data.table], code: () => data.code });
}

Object.assign(VIEWS, { microscope, chunks: fileChunks });
