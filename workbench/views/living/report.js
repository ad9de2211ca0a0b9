// A pasted report with its facts in colour. Select text to make a fact of it; click a mark to take it away; the form
// puts another value in place of what was read.
import { panel, textBox } from "./panel.js";
import { VIEWS, choice, h, isAlone } from "./view.js";

const HINT = "Select text in the report, and say what it is:";
const characters = (text) => Array.from(text).length;

function reportReader(data, model, el) {
  const text = h("pre", { class: "wb-report", tabindex: 0 });
  const ask = h("ul", {});
  const facts = h("ul", { class: "wb-facts" });
  const send = (content) => !isAlone(model, el) && model.send(content);

  // The place of the selected text in the report, in characters as Python counts them.
  function selected() {
    const range = getSelection().rangeCount ? getSelection().getRangeAt(0) : null;
    if (!range || range.collapsed || !text.contains(range.startContainer) || !text.contains(range.endContainer)) return null;
    const at = (node, offset) => {
      const isText = node.nodeType === Node.TEXT_NODE;
      const piece = isText ? node.parentElement : node.children[offset];
      return piece ? Number(piece.dataset.start) + (isText ? characters(node.data.slice(0, offset)) : 0) : null;
    };
    const [start, end] = [at(range.startContainer, range.startOffset), at(range.endContainer, range.endOffset)];
    return start === null || end === null || end <= start ? null : { start, end };
  }
  function piece({ start, text: words, fact, kind, label }) {
    if (fact === null) return h("span", { "data-start": start }, words);
    const reject = () => send({ reject: fact });
    return h("mark", { class: "wb-said", "data-start": start, "data-kind": kind, title: `${label}: click to take it away`, tabindex: 0, role: "button", onclick: () => getSelection().isCollapsed && reject(), onkeydown: (event) => [" ", "Enter"].includes(event.key) && (event.preventDefault(), reject()) }, words);
  }
  function fact({ line, source, label, kind, value }, place) {
    const words = h("span", {}, h("small", {}, `${line ? `line ${line}` : source}, ${label} `), h("span", { class: "wb-said", "data-kind": kind }, `“${value}”`));
    return h("li", {}, words, h("button", { "aria-label": `take away: ${label}`, title: "take away", onclick: () => send({ reject: place }) }, "×"));
  }
  const kinds = data.choices.map(([kind, name, label]) => {
    const add = () => {
      const place = selected();
      hint.textContent = place ? HINT : "First select the words in the report that say it, with the mouse or Shift and the arrow keys.";
      if (place) send({ add: { kind, name, ...place } });
    };
    return h("button", { "data-kind": kind, onmousedown: (event) => event.preventDefault(), onclick: add }, label); // the selection stays
  });
  const controls = (change) => ({
    question: textBox("question", (question) => change({ question })),
    target: textBox("expected file", (target) => change({ target })),
    system: choice("system", data.systems, "", (system) => change({ system })),
    happened: choice("what happened", data.happened, "", (happened) => change({ happened })),
    parameters: textBox("settings", (parameters) => change({ parameters }), [], { placeholder: "such as min_score=0.35, k=60" }),
    notes: textBox("notes", (notes) => change({ notes }), [], { rows: 3, placeholder: "=== memory/tea.md\nThe text of the note." }),
  });
  const more = h("div", {});
  const perhaps = h("p", { class: "wb-kinds" });
  const asking = h("p", {}, "Find out, or ask whoever reported it:");
  function draw(next) {
    data = next;
    text.replaceChildren(...data.pieces.map(piece));
    more.replaceChildren(...data.verdict.more.map((one) => h("p", {}, one)));
    perhaps.hidden = !data.offered.length;
    const offers = data.offered.map(({ start, end, value }) => h("button", { onclick: () => send({ add: { kind: "question", name: "", start, end } }) }, value));
    perhaps.replaceChildren("Was one of these the question?", ...offers);
    asking.hidden = !data.verdict.ask.length;
    ask.replaceChildren(...data.verdict.ask.map((one) => h("li", {}, one)));
    facts.replaceChildren(...data.facts.map(fact));
  }
  const hint = h("p", { role: "status" }, HINT);
  const side = h("div", {}, more, perhaps, asking, ask, hint, h("div", { class: "wb-kinds" }, ...kinds), facts);
  panel(data, model, el, "report", { controls, body: [h("div", { class: "wb-two" }, text, side)], draw, tables: () => [data.table], code: () => data.code });
}

VIEWS.report = reportReader;
