// A pasted report with its facts in colour. Select text to make a fact of it; click a mark to take it away.

const length = (text) => Array.from(text).length;

function add(parent, tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  parent.append(made);
  return made;
}

function render({ model, el }) {
  el.classList.add("workbench-report");
  const text = add(el, "pre", "report-text");
  const side = add(el, "div", "report-side");

  const selected = () => {
    const range = getSelection().rangeCount ? getSelection().getRangeAt(0) : null;
    if (!range || range.collapsed || !text.contains(range.startContainer) || !text.contains(range.endContainer)) return null;
    const at = (node, offset) => {
      const piece = node.nodeType === Node.TEXT_NODE ? node.parentElement : node.children[offset];
      const before = node.nodeType === Node.TEXT_NODE ? node.data.slice(0, offset) : "";
      return piece ? Number(piece.dataset.start) + length(before) : null;
    };
    const start = at(range.startContainer, range.startOffset);
    const end = at(range.endContainer, range.endOffset);
    return start === null || end === null || end <= start ? null : { start, end };
  };

  const draw = () => {
    text.replaceChildren();
    for (const piece of model.get("pieces")) {
      const span = add(text, piece.fact === null ? "span" : "mark", "", piece.text);
      span.dataset.start = piece.start;
      if (piece.fact === null) continue;
      span.dataset.kind = piece.kind;
      span.title = `${piece.kind}: click to take it away`;
      span.tabIndex = 0;
      span.setAttribute("role", "button");
      const reject = () => model.send({ reject: piece.fact });
      span.onclick = () => getSelection().isCollapsed && reject();
      span.onkeydown = (event) => event.key === "Enter" && reject();
    }
    side.replaceChildren();
    const verdict = model.get("verdict");
    add(side, "p", "report-verdict", verdict.says).dataset.kind = verdict.kind;
    for (const one of verdict.ask) add(side, "p", "report-ask", one);
    add(side, "p", "", "Select text in the report, and say what it is:");
    const buttons = add(side, "div", "report-kinds");
    for (const [kind, name, label] of model.get("choices")) {
      const button = add(buttons, "button", "", label);
      button.dataset.kind = kind;
      button.onmousedown = (event) => event.preventDefault(); // which keeps the selection
      button.onclick = () => {
        const place = selected();
        if (place) model.send({ add: { kind, name, ...place } });
      };
    }
    const table = add(side, "table", "report-facts");
    for (const one of model.get("facts")) {
      const row = add(table, "tr", "");
      for (const cell of [one.line || one.source, one.label, one.value]) add(row, "td", "", String(cell));
    }
  };
  model.on("change:pieces", draw);
  model.on("change:verdict", draw);
  draw();
}

export default { render };
