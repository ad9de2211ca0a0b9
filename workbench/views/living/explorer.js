// A part of view.js, which has its helpers.

// The explorer: one question, two systems side by side, and why a file is in the answer or not.
function explorer(data, model, el) {
  const state = { ...model.get("settings") };
  const text = (label, list) => {
    const input = h("input", { type: "text", class: "wb-text", list });
    return { input, root: h("label", {}, `${label} `, input) };
  };
  const files = h("datalist", { id: `wb-files-${Math.random()}` });
  const question = text("question", null);
  const target = text("explain file", files.id);
  question.input.addEventListener("change", () => ask({ question: question.input.value }));
  target.input.addEventListener("change", () => ask({ target: target.input.value }));
  const status = h("p", { role: "status", class: "wb-status" });
  const busy = h("p", { class: "wb-busy", hidden: "" }, "searching …");
  const buttons = h("div", { class: "wb-controls" });
  const twin = folded("table", () => table(data.table));
  const source = folded("copy as code", () => h("pre", { tabindex: 0 }, data.code));
  const sides = ["left", "right"].map((side, n) => {
    const system = h("select", { "aria-label": side, onchange: () => ask({ [side]: system.value }) });
    system.append(...data.groups.map(({ label, names: some }) => h("optgroup", { label }, ...some.map((one) => h("option", { value: one }, one)))));
    const flow = pipelinePicture();
    const list = answerList((row) => {
      const chunk = data.sides[n].traces[0].ids[row];
      ask({ side, chunk: chunk === state.chunk ? "" : chunk });
    });
    const floor = h("div", {});
    const why = h("pre", { tabindex: 0, role: "region" });
    const root = h("section", { "aria-label": `${side} system` }, h("label", {}, `${side} `, system), floor, flow.root, list.root, h("details", { open: "" }, h("summary", {}, "why, or why not"), why));
    return { side, system, flow, list, floor, why, root, moved: {} };
  });

  function action(label, content) {
    buttons.append(h("button", { onclick: () => model.send({ ...content(), settings: state }) }, label));
  }
  action("save as case", () => ({ do: "case" }));
  for (const { label, name } of data.actions ?? []) action(label, () => ({ do: name }));

  function ask(next) {
    Object.assign(state, next);
    model.set("settings", { ...state });
    model.save_changes();
    if (next.chunk !== undefined) return draw();
    if (el.closest(".jupyter-widgets-disconnected") || model.alone) {
      status.textContent = "A new question, another file and another system take Python: run the notebook's cells again, or ask `workbench explore`.";
      return;
    }
    root.setAttribute("aria-busy", "true");
    busy.hidden = false;
  }
  function floorOf(one, entry) {
    const settable = entry.floor && entry.pipeline.steps.some((step) => step.parameters[entry.floor.slice(step.slot.length + 1)]?.here && entry.floor.startsWith(`${step.slot}.`));
    if (!settable) return one.floor.replaceChildren(entry.floor ? "The floor of this system cannot be moved here: what follows it takes another search." : "This system has no floor.");
    const scores = run(entry.pipeline, entry.traces[0]).columns[entry.column] ?? [];
    const high = Math.max(entry.own, ...scores.filter(Number.isFinite), 1e-9);
    const top = high > 0.1 && high <= 1 ? 1 : high * 1.2;
    const bar = slider("floor", [0, top], top / 100, entry.own, (value) => {
      one.moved = { [entry.floor]: value };
      draw();
    });
    one.floor.replaceChildren(bar.root);
  }
  function draw() {
    for (const [n, one] of sides.entries()) {
      const entry = data.sides[n];
      const [trace] = entry.traces;
      const answer = run(entry.pipeline, trace, one.moved);
      const asked = { question: data.question, target: data.target || null };
      one.flow.show(entry, asked, trace, answer);
      one.list.show(data, entry, asked, trace, answer, one.moved[entry.floor] ?? entry.own, trace.ids.indexOf(state.chunk));
      one.why.hidden = !entry.why;
      one.why.textContent = entry.why;
      one.why.setAttribute("aria-label", `explanation, ${entry.pipeline.system}`);
    }
    const moved = sides.some((one) => Object.keys(one.moved).length);
    status.textContent = [data.sentence, moved ? "The floors were moved: the lists and the pictures show it, and these words do not." : "", data.saved].filter(Boolean).join(" ");
    for (const one of [twin, source]) one.refresh();
  }
  function take() {
    data = structuredClone(model.get("data"));
    for (const entry of data.sides) prepare(data, entry);
    sides.forEach((one, n) => {
      one.moved = {};
      floorOf(one, data.sides[n]);
      one.system.value = state[one.side];
    });
    question.input.value = state.question;
    target.input.value = state.target;
    files.replaceChildren(...data.files.map((file) => h("option", { value: file })));
    root.removeAttribute("aria-busy");
    busy.hidden = true;
    draw();
  }
  const root = h("section", { class: "wb-living", "aria-label": "explorer" }, h("div", { class: "wb-controls" }, question.root, target.root, files), status, busy, h("div", { class: "wb-two wb-even" }, ...sides.map((one) => one.root)), buttons, twin.root, source.root);
  model.on?.("change:data", take);
  follow(model, state, take);
  take();
  el.replaceChildren(root);
}
