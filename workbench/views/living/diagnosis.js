// Where files are lost, and what a change is worth: the survival of right files, the map of a sweep, and the figures
// that Python draws: the fixes of a diagnosis and the shares of a blame.
import { panel, steps, textBox } from "./panel.js";
import { figure } from "./plot.js";
import { VIEWS, choice, h } from "./view.js";

// A figure that Python draws for what is asked: a choice for each setting with few values, and a box for others.
function asked(data, model, el) {
  const drawing = figure(model, 0);
  const empty = h("p", {}, data.empty ?? "");
  const control = (name, change) => {
    const set = (value) => change({ [name]: value });
    return data.choices[name] ? choice(name, data.choices[name], "", set) : textBox(name, set, data.offered[name]);
  };
  const controls = (change) => Object.fromEntries(model.get("names").map((name) => [name, control(name, change)]));
  function draw(next) {
    data = next;
    drawing.root.hidden = !data.figure;
    empty.hidden = Boolean(data.figure);
    if (data.figure) drawing.show(data.figure.data, data.figure.layout);
  }
  panel(data, model, el, data.label, { controls, body: [drawing.root, empty], draw, tables: () => [data.table], code: () => data.code });
}

// The survival chart: for each step of the search, how many questions still have their right file.
function survivalChart(data, model, el) {
  let [state, pickAt] = [{}, () => {}];
  const drawing = figure(model, 320, undefined, (mark) => pickAt(mark));
  const controls = (change) => {
    const pickSystems = () => change({ systems: data.systems.map((one) => one.system).filter((_, n) => boxes[n].checked) });
    const boxes = data.systems.map(() => h("input", { type: "checkbox", onchange: pickSystems }));
    const labels = data.systems.map(({ system }, n) => h("label", { class: `wb-system-${n % 6}` }, boxes[n], ` ${system}`));
    const set = (chosen) => boxes.forEach((box, n) => (box.checked = chosen.includes(data.systems[n].system)));
    return {
      systems: { root: h("fieldset", {}, h("legend", {}, "systems"), ...labels), set },
      kind: choice("questions", data.kinds, "", (kind) => change({ kind })),
    };
  };
  const chosen = () => data.systems.filter(({ system }) => state.systems.includes(system));
  const counts = (place) => state.kind === data.kinds[0] || data.questions[place].kind === state.kind;
  const count = (one, step) => one.reached.filter((reached, place) => counts(place) && reached >= step).length;
  const lost = (one, step) => data.questions.filter((_, place) => counts(place) && one.reached[place] === step - 1);

  function pick(one, step, change) {
    const some = step ? lost(one, step) : [];
    if (!some.length) return change({ system: one.system });
    const at = some.findIndex(({ question }) => question === state.question);
    change({ system: one.system, question: some[(at + 1) % some.length].question });
  }
  function told(one) {
    const [asked, returned] = [count(one, 0), count(one, data.steps.length - 1)];
    const words = [`${one.system} returns the target of ${returned} of ${asked} questions`];
    const rescued = one.rescued.filter((yes, place) => yes && counts(place)).length;
    if (rescued) words.push(`${rescued} of them score below the floor and were rescued`);
    const losses = data.steps.map((_, step) => (step ? lost(one, step).length : 0));
    const most = Math.max(...losses);
    if (most) words.push(`most are lost ${data.lost[losses.indexOf(most)]}: ${most}`);
    return `${words.join("; ")}.`;
  }
  function ofTheQuestion() {
    const place = data.questions.findIndex(({ question }) => question === state.question);
    if (place < 0 || !chosen().length) return "";
    const end = (one) => (one.reached[place] === data.steps.length - 1 ? "returned" : `lost ${data.lost[one.reached[place] + 1]}`);
    return `The target of the selected question, “${state.question}”, is ${chosen().map((one) => `${end(one)} in ${one.system}`).join(", ")}.`;
  }
  function rows() {
    const cells = (one, step) => {
      const gone = step ? lost(one, step).length : 0;
      return `${count(one, step)}${gone ? ` (${gone} lost here)` : ""}`;
    };
    return [["step", ...chosen().map((one) => one.system)], ...data.steps.map((step, n) => [step, ...chosen().map((one) => cells(one, n))])];
  }
  function code() {
    const ofKind = state.kind === data.kinds[0] ? "" : `.of_kind(${JSON.stringify(state.kind)})`;
    const each = chosen().map((one) => `\n${one.source}\n[evaluation] = wb.evaluate(questions, [pipeline], index)\nfound = survival(evaluation, index)${ofKind}\nleft[pipeline.name] = [found.count(step) for step in SurvivalStep]`);
    return `import workbench as wb\nfrom workbench.measure.missed import SurvivalStep, survival\n\nleft = {}\n${each.join("\n")}\n\nprint(left)`;
  }
  function sentence() {
    const words = chosen().map(told);
    return words.length ? [...words, ofTheQuestion()].join(" ") : "No system is chosen.";
  }
  const hues = ["blue", "orange", "green", "purple", "red"];
  function draw(_, now, change) {
    state = now;
    const [upwards, systems] = [[...data.steps.keys()].reverse(), chosen().reverse()]; // plotly.js begins at the bottom
    pickAt = ({ curveNumber, pointNumber }) => pick(systems[curveNumber], upwards[pointNumber], change);
    drawing.show(systems.map((one) => ({
      type: "bar", orientation: "h", name: one.system, hue: hues[data.systems.indexOf(one) % hues.length],
      x: upwards.map((n) => count(one, n)), y: upwards.map((n) => data.steps[n]), text: upwards.map((n) => count(one, n)), textposition: "outside", textangle: 0, cliponaxis: false,
      hovertemplate: "%{y}: %{x} left. Click for a question that is lost here.<extra>%{fullData.name}</extra>",
    })), { margin: { l: 120, r: 30, t: 6, b: 44 }, barmode: "group", bargap: 0.25, xaxis: { title: { text: "questions whose right file is left" }, rangemode: "tozero" }, yaxis: { automargin: true } });
  }
  panel(data, model, el, "survival chart", { controls, body: [drawing.root], draw, sentence, tables: () => [rows()], code });
}

function sweepMap(data, model, el) {
  const [across, up] = data.axes;
  const place = (setting) => data.settings.findIndex((one) => one.every((value, n) => value === setting[n]));
  const setting = (state) => data.axes.map((one) => state.chosen[one.name]);
  const choose = (change, state, some) => change({ chosen: { ...state.chosen, ...some } });
  let clicked = () => {};
  const drawing = figure(model, 0, undefined, ({ x, y }) => clicked({ [across.name]: across.values[x], [up.name]: up.values[y] }));
  const controls = (change, state) => {
    clicked = (some) => choose(change, state, some);
    const sliders = data.axes.map(({ name, values }) => steps(name, values, (value) => choose(change, state, { [name]: value })));
    const set = (chosen) => sliders.forEach((one, n) => one.set(chosen[data.axes[n].name]));
    return { chosen: { root: h("span", { class: "wb-controls" }, ...sliders.map((one) => one.root)), set } };
  };
  function draw(next, state) {
    data = next;
    const [x, y] = setting(state).map((value, n) => data.axes[n].values.indexOf(value));
    const frame = { type: "rect", x0: x - 0.5, x1: x + 0.5, y0: y - 0.5, y1: y + 0.5, line: { color: "#c44f00", width: 3 } };
    drawing.show(data.figure.data, { ...data.figure.layout, shapes: [frame] });
  }
  const sentence = (state) => data.told[place(setting(state))];
  function tables(state) {
    const [head, now, best] = data.table;
    const chosen = place(setting(state));
    return [[head, now, best, ["chosen", ...setting(state), data.scores[chosen], data.silences[chosen]]]];
  }
  const code = (state) => data.code.replaceAll("@place@", place(setting(state)));
  const legend = h("p", { class: "wb-quiet" }, "Each cell is a setting with its right answers, unanswerable questions included; ★ is the best, the frame is the chosen one.");
  panel(data, model, el, "sweep map", { controls, body: [drawing.root, legend], draw, sentence, tables, code });
}

Object.assign(VIEWS, { survival: survivalChart, figure: asked, sweep: sweepMap });
