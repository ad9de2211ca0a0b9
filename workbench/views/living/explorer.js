// A part of view.js, which has its helpers: one question, two systems side by side, and why a file is in an
// answer or not.

const SIGNS = { add: [" + ", 1], subtract: [" - ", 1], multiply: [" × ", 2], divide: [" / ", 2] };

// Whether a formula depends on the candidate: its parameters alone are one number.
const varies = (data) => Array.isArray(data) && (data[0] === "column" || data.slice(1).some(varies));

// A formula with the numbers of a row, and how tightly its last operation binds. Only the branch taken is shown.
function printed(data, scope, row) {
  if (!varies(data) || data[0] === "column" || data[0] === "over") return [short(Number(compiled(data, scope)(row))), 3];
  const [name, ...inputs] = data;
  if (name === "where") return printed(inputs[compiled(inputs[0], scope)(row) ? 1 : 2], scope, row);
  const parts = inputs.map((one) => printed(one, scope, row));
  if (!SIGNS[name]) return [`${name}(${parts.map(([text]) => text).join(", ")})`, 3];
  const [sign, binds] = SIGNS[name];
  const bracketed = ([text, inner], place) => (inner < binds || (place && inner === binds && /[-/]/.test(sign)) ? `(${text})` : text);
  return [parts.map(bracketed).join(sign), binds];
}

// How the pipeline treated one candidate: a line for each leg, for each column, and for each cut.
function stepLines(pipeline, state, row, settings) {
  const spaced = (name) => name.replaceAll("_", " ");
  const legs = ["keyword", "vector"].filter((leg) => state.columns[`${leg}_rank`]);
  const lines = legs.map((leg) => {
    const rank = state.columns[`${leg}_rank`][row];
    return `${leg} leg: ${Number.isNaN(rank) ? "not found" : `rank ${rank}`}`;
  });
  for (const [place, step] of pipeline.steps.entries()) {
    const value = state.columns[step.column]?.[row];
    if (Number.isFinite(value)) {
      const [text] = printed(step.formula, { columns: state.columns, parameters: parameters(step, settings) }, row);
      lines.push(`${spaced(step.column)} = ${text === short(value) ? "" : `${text} = `}${short(value)}`);
    }
    for (const name of step.recorded ?? []) if (Number.isFinite(state.columns[name]?.[row])) lines.push(`${spaced(name)} = ${short(state.columns[name][row])}`);
    const compared = state.compared.get(place)?.(row) ?? [];
    if (state.dropped[row] === place) return [...lines, sentenceCase(reason(step, state.values[place], compared))].map((one) => h("div", {}, one));
    for (const { measure, value: at, limit } of compared.filter((one) => Number.isFinite(one.value))) {
      lines.push(`${spaced(step.slot)}: ${spaced(measure)} ${short(at)} ${step.count === undefined ? "≥" : "≤"} ${short(limit)}, kept`);
    }
  }
  return [...lines, `returned at place ${returned(state).indexOf(row) + 1}`].map((one) => h("div", {}, one));
}

// A choice among many names, in groups, with a search among them.
function picker(label, groups, pick) {
  const shown = h("summary", {});
  const search = h("input", { type: "search", "aria-label": `search the systems, ${label}`, placeholder: "search the systems" });
  const buttons = [];
  const lists = groups.map(({ label: group, names }) => {
    const items = names.map((name) => h("li", { "data-words": `${group} ${name}`.toLowerCase() }, h("button", { onclick: () => chosen(name) }, name)));
    buttons.push(...items);
    return h("section", { "aria-label": group }, h("b", {}, group), h("ul", {}, ...items));
  });
  const none = h("p", { role: "status", hidden: "" }, "No system has these words in its name or group.");
  const all = h("div", { class: "wb-all", tabindex: -1 }, ...lists, none);
  const root = h("details", { class: "wb-picker" }, shown, h("div", {}, search, all));
  function chosen(name) {
    root.open = false;
    shown.focus();
    pick(name);
  }
  function filter() {
    const words = search.value.toLowerCase().split(/\s+/);
    for (const one of buttons) one.hidden = !words.every((word) => one.dataset.words.includes(word));
    for (const one of lists) one.hidden = !one.querySelector("li:not([hidden])");
    none.hidden = lists.some((one) => !one.hidden);
  }
  search.addEventListener("input", filter);
  search.addEventListener("keydown", (event) => {
    const first = buttons.find((one) => !one.hidden);
    if (event.key !== "Enter" || !first) return;
    event.preventDefault(); // the same key would open the list again, which has the focus next
    chosen(first.textContent);
  });
  const outside = ({ target }) => root.contains(target) || (root.open = false);
  // The event comes after the list is open. What was typed until then stays.
  root.addEventListener("toggle", () => {
    if (root.open) {
      addEventListener("pointerdown", outside);
      return search.focus();
    }
    removeEventListener("pointerdown", outside);
    search.value = "";
    filter();
  });
  root.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || !root.open) return;
    root.open = false;
    shown.focus();
  });
  root.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !root.contains(relatedTarget)) root.open = false;
  });
  return { root, set: (name) => shown.replaceChildren(`${label}: `, h("b", {}, name)) };
}

function explorer(data, model, el) {
  const state = settingsOf(model);
  const alone = () => isAlone(model, el);
  const question = textBox("question", asked);
  const target = textBox("expected file", asked, data.files);
  const asking = h("button", { class: "wb-primary", onclick: asked }, "Ask");
  const status = h("p", { role: "status", class: "wb-status" });
  const busy = h("span", { class: "wb-busy", hidden: "" }, "searching …");
  const behind = h("span", { "aria-live": "polite" });
  const buttons = h("div", { class: "wb-labels" });
  const twin = folded("table", () => table(rows()));
  const source = folded("copy as code", () => h("pre", { tabindex: 0 }, data.code));
  const sides = ["left", "right"].map((side, n) => {
    const system = picker(side, data.groups, (name) => name !== state[side] && ask({ [side]: name, moved: movedElsewhere(side) }));
    const flow = pipelinePicture();
    const list = answerList((row) => {
      if (!busy.hidden) return; // the list is still that of the last question
      const chunk = data.sides[n].traces[0].ids[row];
      ask({ side, chunk: chunk === state.chunk ? "" : chunk });
    }, (row) => {
      const path = data.sides[n].traces[0].files[row];
      const explain = h("button", { onclick: () => ask({ target: (named = path) }) }, "explain this file");
      idle(explain, path === data.target);
      return [...stepLines(data.sides[n].pipeline, sides[n].answer, row, movedOn(side)), explain];
    });
    const floor = h("div", {});
    const reset = h("button", { onclick: () => ask({ moved: movedElsewhere(side) }) }, "as shipped");
    const more = h("details", { class: "wb-more" }, h("summary", {}, "more settings"), h("div", {}));
    const why = h("pre", { class: "wb-why-not", tabindex: 0, role: "group" });
    const reasons = h("details", { open: data.actions ? null : "" }, h("summary", {}, "why, or why not"), why);
    const marks = h("div", { class: "wb-marks", "aria-hidden": "true" });
    const head = h("div", { class: "wb-controls" }, system.root, h("div", { class: "wb-set" }, h("div", { class: "wb-floor-of" }, marks, floor), reset));
    const root = h("div", { class: "wb-side", role: "group", "aria-label": `${side} system` }, head, flow.root, list.root, reasons, more);
    return { side, system, flow, list, floor, marks, reset, more, why, reasons, root, key: "", moved: {}, answer: null };
  });
  const movedOn = (side) => state.moved?.[side] ?? {};
  const movedElsewhere = (side) => Object.fromEntries(Object.entries(state.moved).filter(([one]) => one !== side));

  function action(label, content) {
    buttons.append(h("button", { onclick: () => model.send({ ...content(), settings: state }) }, label));
  }
  for (const [name, label] of Object.entries(data.actions ?? {})) action(label, () => ({ do: name }));
  action("save as case", () => ({ do: "case" }));

  // A new question has no expected file yet, unless the reader has named one: the file of a labelled question goes.
  let named = "";
  function asked() {
    const next = { question: question.get(), target: target.get() };
    if (next.target !== state.target) named = next.target;
    else if (next.question !== state.question && next.target !== named) target.set((next.target = ""));
    ask(next);
  }
  function ask(next) {
    if (Object.entries(next).every(([name, value]) => JSON.stringify(state[name]) === JSON.stringify(value))) return;
    if (next.chunk === undefined && alone()) {
      question.set(state.question);
      target.set(state.target);
      status.textContent = "A new question, another file and another system take Python: run the notebook's cells again, or ask `workbench explore`.";
      return;
    }
    Object.assign(state, next);
    push(model, state);
    if (next.chunk !== undefined) return draw();
    root.setAttribute("aria-busy", "true");
    busy.hidden = false;
    put(behind, "");
  }
  // A setting moves the picture at once. When it stays, Python searches with it, and says why in words.
  function move(one, key, value) {
    one.moved = { ...one.moved, [key]: value };
    draw();
  }
  function stay(one) {
    const moved = { ...movedOn(one.side), ...one.moved };
    one.key = settingsKey(one, moved);
    if (!alone()) ask({ moved: { ...state.moved, [one.side]: moved } });
  }
  const settingsKey = (one, moved) => JSON.stringify([state[one.side], moved]);
  function controls(one, entry) {
    if (one.key === settingsKey(one, movedOn(one.side))) return;
    one.key = settingsKey(one, movedOn(one.side));
    const moving = (key, value) => move(one, key, value);
    const staying = () => stay(one);
    one.more.lastChild.replaceChildren(...parameterControls(entry.pipeline, [entry.floor], movedOn(one.side), alone(), moving, staying));
    if (!entry.floor) return one.floor.replaceChildren("no floor");
    const scores = run(entry.pipeline, entry.traces[0]).columns[entry.column] ?? [];
    const high = Math.max(entry.own, ...scores.filter(Number.isFinite), 1e-9);
    const top = high > 0.1 && high <= 1 ? 1 : high * 1.2;
    const low = Math.min(0, entry.own);
    const made = slider("floor", [low, top], top / 100, entry.own, (value) => moving(entry.floor, value), staying).root;
    made.firstChild.remove(); // its name stands above it, with what the floor is compared with
    one.floor.replaceChildren(made);
    one.span = [low, top];
  }
  // What the floor is compared with, on the axis of its slider: a dot for each number, the expected file's in colour.
  function marks(one, entry) {
    one.marks.hidden = !entry.floor;
    if (!entry.floor) return;
    const [{ files }, [low, top]] = [entry.traces[0], one.span];
    const values = run(entry.pipeline, entry.traces[0]).columns[entry.column] ?? [];
    const dots = new Map(values.map((value, row) => [value, files[row] === data.target]).sort((a, b) => a[1] - b[1]).filter(([value]) => value >= low && value <= top));
    const drawn = [...dots].map(([value, mine]) => h("i", { class: mine ? "wb-mine" : "", style: `--at: ${(value - low) / (top - low)}` }));
    one.marks.replaceChildren(h("small", {}, `floor, on ${entry.column.replaceAll("_", " ")}`), ...drawn);
  }
  function draw() {
    let waits = false;
    for (const [n, one] of sides.entries()) {
      const entry = data.sides[n];
      const [trace] = entry.traces;
      idle(one.reset, !Object.keys(movedOn(one.side)).length); // hidden, it would move the slider when it comes
      waits ||= asks(entry.pipeline, one.moved);
      if (asks(entry.pipeline, one.moved)) continue; // Python answers when the setting stays
      one.answer = run(entry.pipeline, trace, one.moved);
      const asked = { question: data.question, target: data.target || null };
      one.flow.show(entry, asked, trace, one.answer);
      one.list.show(data, entry, asked, trace, one.answer, one.moved[entry.floor] ?? entry.own, trace.ids.indexOf(state.chunk), one.span);
      one.reasons.hidden = !entry.why;
      one.why.textContent = entry.why;
      one.why.setAttribute("aria-label", `explanation, ${entry.pipeline.system}`);
    }
    const moved = sides.some((one) => Object.keys(one.moved).length);
    put(behind, waits ? "This setting takes another search, and that takes Python." : moved ? "The lists and the pictures follow the settings, and the words below do not." : "");
    const said = [...data.said, data.saved].filter(Boolean);
    status.replaceChildren(...said.flatMap((one) => [h("span", {}, one), " "]));
    for (const one of [twin, source]) one.refresh();
  }
  // Every candidate of both answers, the left one's order first; a whole note stands beside its best chunk.
  function rows() {
    const whole = data.sides.some(({ traces: [trace] }) => trace.ids.some((id, row) => id === trace.files[row]));
    const names = new Map();
    const found = sides.map((one, n) => {
      const [trace] = data.sides[n].traces;
      const keys = one.answer.order.map((row) => [(whole ? trace.files : trace.ids)[row], row]);
      for (const [key, row] of keys) {
        const { path, lines } = data.chunks[trace.rows[row]];
        names.set(key, whole ? path : `${path}${lines}`);
      }
      return new Map(keys.reverse());
    });
    const cells = (n, row) => {
      if (row === undefined) return ["–", "no candidate"];
      const { order, dropped, columns, by } = sides[n].answer;
      return [`${order.indexOf(row) + 1}. ${short(columns[by][row])}`, dropped[row] === -1 ? "returned" : why(data.sides[n], sides[n].answer, row)];
    };
    const keys = new Set(found.flatMap((one) => [...one.keys()].reverse()));
    const named = data.sides.flatMap(({ pipeline }) => [pipeline.system, "fate"]);
    return [["chunk", ...named], ...[...keys].map((key) => [names.get(key), ...found.flatMap((one, n) => cells(n, one.get(key)))])];
  }
  let answered = null; // the number of the answer that is shown
  function take() {
    data = dataOf(model);
    Object.assign(state, settingsOf(model));
    for (const entry of data.sides) prepare(data, entry);
    if (data.answer !== answered) { // what is refused stays in its box
      answered = data.answer;
      question.set(state.question);
      target.set(state.target);
    }
    root.removeAttribute("aria-busy");
    busy.hidden = true;
    keepingFocus(root, () => {
      sides.forEach((one, n) => {
        one.moved = {};
        controls(one, data.sides[n]);
        marks(one, data.sides[n]);
        one.system.set(state[one.side]);
      });
      draw();
    });
  }
  const form = h("div", { class: "wb-form" }, h("div", {}, question.root, asking), target.root, buttons);
  const root = h("div", { class: "wb-living", role: "group", "aria-label": "explorer", tabindex: -1 }, form, h("p", { class: "wb-line" }, busy, behind), status, h("div", { class: "wb-two wb-even" }, ...sides.map((one) => one.root)), twin.root, source.root);
  model.on?.("change:data", take);
  model.on?.("msg:custom", ({ problem }) => {
    take();
    status.textContent = problem;
  });
  follow(model, state, () => sides.every((one) => one.answer) && draw());
  take();
  el.replaceChildren(root);
}
