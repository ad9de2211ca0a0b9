// The words of a question in FTS5, and the chunks of a file: what the index can find, and what it holds.
import { panel, textBox } from "./panel.js";
import { figure } from "./plot.js";
import { VIEWS, choice, h, table } from "./view.js";

const has = (one, other) => [...one].every((bit, place) => bit === "0" || other[place] === "1");

function microscope(data, model, el) {
  const drawing = figure(model, 0);
  const boxes = h("fieldset", { class: "wb-words" });
  const told = h("p", { class: "wb-status" });
  const sent = h("div", { class: "wb-sent" });
  let [shown, found] = [null, null];

  const controls = (change) => ({
    question: textBox("question", (question) => change({ question })),
    letters: choice("words of", Object.keys(data.ways), "", (letters) => change({ letters })),
  });
  // How many chunks have all of the words whose boxes are checked: counted from the patterns of words.
  function count() {
    const chosen = [...boxes.querySelectorAll("input")].map((box) => (box.checked ? "1" : "0")).join("");
    const some = found.patterns.filter((one) => has(chosen, one.words));
    const rows = some.reduce((sum, one) => sum + one.rows, 0);
    const names = found.words.filter((_, place) => chosen[place] === "1");
    told.textContent = names.length ? `${names.join(" AND ")} finds ${rows} of ${found.size} chunks.` : "No word is checked.";
  }
  function draw(next, state) {
    data = next;
    found = data.ways[state.letters];
    if (shown === found) return;
    shown = found;
    const box = (word) => h("label", {}, h("input", { type: "checkbox", checked: "", onchange: count }), ` ${word}`);
    boxes.replaceChildren(h("legend", {}, "joined with AND"), ...found.words.map(box));
    boxes.hidden = told.hidden = drawing.root.hidden = !found.words.length;
    if (found.figure) drawing.show(found.figure.data, found.figure.layout);
    count();
    sent.replaceChildren(h("h3", {}, "What the systems send to FTS5"), table(data.sent));
  }
  const sentence = (state) => (data.problem ? data.sentence : data.ways[state.letters].sentence);
  panel(data, model, el, "microscope", { controls, body: [boxes, told, drawing.root, sent], draw, sentence, tables: (state) => [data.ways[state.letters].table], code: (state) => data.ways[state.letters].code });
}

// How a text of a chunk looks, in itself, and what that means.
const LOOKS = [
  ["wb-unread", "Struck through", "the model has not read it"],
  ["wb-repeated", "In italics", "it ends the chunk before, too"],
];

function fileChunks(data, model, el) {
  const legend = h("p", { class: "wb-quiet" });
  const list = h("div", { class: "wb-chunks" });
  const controls = (change) => ({ file: textBox("file", (file) => change({ file }), data.files) });
  function explain() {
    const seen = data.chunks.flatMap((one) => one.parts.flatMap(([, kinds]) => kinds.split(" ")));
    const looks = LOOKS.filter(([kind]) => seen.includes(kind));
    legend.replaceChildren(...looks.map(([kind, look, means]) => h("span", {}, h("span", { class: kind }, look), `: ${means}. `)));
    legend.hidden = !looks.length;
  }
  function draw(next, state) {
    data = next;
    explain();
    const chosen = data.chunks.some((one) => one.id === state.chunk) ? state.chunk : null;
    list.replaceChildren(...data.chunks.map((one, place) => {
      const mine = one.id === chosen;
      const parts = one.parts.map(([text, kinds]) => h("span", { class: kinds }, text));
      return h("details", { open: mine || (!chosen && !place) ? "" : null, "aria-current": mine ? "true" : null }, h("summary", {}, one.line, mine ? " (selected)" : ""), h("pre", { tabindex: 0 }, ...parts));
    }));
  }
  panel(data, model, el, "chunks of a file", { controls, body: [legend, list], draw, tables: () => [data.table], code: () => data.code });
}

Object.assign(VIEWS, { microscope, chunks: fileChunks });
