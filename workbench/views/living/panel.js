// What the views share whose facts come from Python: controls, a status line, a busy sign, a table and code.
import { dataOf, folded, follow, h, isAlone, keepingFocus, push, same, settingsOf, table } from "./view.js";

const ALONE = "This takes Python: run the notebook's cells again, or ask `workbench explore`.";

// `view` draws: `controls` by the name of their setting, `body`, `draw`, `sentence`, `tables` and `code`.
// `data.of` are the settings that Python has answered, and what is shown belongs to them. Other ones are asked of
// Python, or taken back where nobody answers.
export function panel(data, model, el, label, view) {
  const state = settingsOf(model);
  const status = h("p", { role: "status", class: "wb-status" });
  const busy = h("p", { class: "wb-busy", hidden: "" }, "Python is working …");
  const folds = [
    folded("table", () => h("div", {}, ...view.tables(state).map(table))),
    folded("copy as code", () => h("pre", { tabindex: 0 }, view.code(state))),
  ];
  const controls = view.controls(change, state);
  const bar = h("div", { class: "wb-controls" }, ...Object.values(controls).map((one) => one.root));
  const root = h("div", { class: "wb-living", role: "group", "aria-label": label, tabindex: -1 }, bar, status, busy, ...view.body, ...folds.map((one) => one.root));
  let refused = ""; // why Python does not take a setting, until another one is tried
  const waits = () => Object.entries(data.of ?? {}).some(([name, value]) => !same(state[name], value));

  function change(next) {
    Object.assign(state, next);
    refused = "";
    const alone = waits() && isAlone(model, el);
    if (alone) Object.assign(state, data.of);
    push(model, state);
    show();
    if (alone) status.textContent = ALONE;
  }
  function show() {
    for (const [name, one] of Object.entries(controls)) one.set(state[name]);
    busy.hidden = !waits();
    if (waits()) return root.setAttribute("aria-busy", "true");
    root.removeAttribute("aria-busy");
    keepingFocus(root, () => view.draw(data, state, change));
    status.textContent = refused || (view.sentence?.(state) ?? data.sentence);
    for (const one of folds) one.refresh();
  }
  function refuse(problem) {
    refused = problem;
    show();
  }
  function take() {
    data = dataOf(model);
    show();
  }
  model.on?.("change:data", take);
  model.on?.("msg:custom", ({ problem }) => refuse(problem));
  follow(model, state, () => refuse(""));
  take();
  el.replaceChildren(root);
}

// A box for a text, with what may be typed into it; Enter and leaving the box ask. `more` are attributes: with
// `rows` it has several lines. What is typed until then stays, also when an answer to something else comes.
export function textBox(label, change, offered = [], more = {}) {
  const list = offered.length ? h("datalist", { id: `wb-list-${Math.random()}` }, ...offered.map((one) => h("option", { value: one }))) : "";
  let typing = false;
  const input = h(more.rows ? "textarea" : "input", { ...more, class: "wb-text", "aria-label": label, list: list.id, oninput: () => (typing = true), onchange: () => ((typing = false), change(input.value)) });
  return { root: h("label", {}, `${label} `, input, list), set: (value) => typing || (input.value = value), get: () => input.value };
}

// A slider over texts, such as the values that a sweep has tried.
export function steps(label, values, change) {
  const range = h("input", { type: "range", min: 0, max: values.length - 1, step: 1, "aria-label": label });
  const told = h("b", { "aria-hidden": "true" });
  const set = (value) => {
    range.value = values.indexOf(value);
    range.setAttribute("aria-valuetext", value);
    told.textContent = value;
  };
  range.addEventListener("input", () => change(values[Number(range.value)]));
  return { root: h("label", {}, `${label} `, range, " ", told), set };
}
