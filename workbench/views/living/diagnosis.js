// What a change is worth: the fixes of a diagnosis, the shares of a blame, and the map of a sweep.
import { panel, steps, textBox } from "./panel.js";
import { VIEWS, choice, h, svg } from "./view.js";

// A line with a name, and bars that begin at a share of the width.
function barLine(name, bars, told = "") {
  const drawn = bars.map(({ from, to, kind, text }) => {
    const [low, high] = [Math.min(from, to), Math.max(from, to)];
    return h("div", { class: "wb-span" }, h("i", { class: kind, style: `left:${low * 100}%;width:${(high - low) * 100}%` }), h("span", { style: `left:${high * 100}%` }, text));
  });
  return h("div", { class: "wb-line-of", title: told }, h("span", {}, name), h("div", {}, ...drawn));
}

function fixFinder(data, model, el) {
  const bars = h("div", { class: "wb-bars" });
  const controls = (change) => ({
    question: textBox("question", (question) => change({ question })),
    target: textBox("target", (target) => change({ target }), data.files),
    system: choice("system", data.systems, "", (system) => change({ system })),
  });
  function draw(next) {
    data = next;
    const most = 1.25 * Math.max(1, ...data.fixes.flatMap((one) => [one.won, one.lost]));
    const line = ({ name, won, lost, verdict }) => barLine(name, [
      { from: 0, to: won / most, kind: "wb-won", text: `${won} won` },
      { from: 0, to: lost / most, kind: "wb-lost", text: `${lost} lost` },
    ], verdict);
    bars.replaceChildren(...(data.fixes.length ? data.fixes.map(line) : [h("p", {}, "No fix was found.")]));
  }
  panel(data, model, el, "fix finder", { controls, body: [bars], draw, tables: () => [data.table], code: () => data.code });
}

function blameChart(data, model, el) {
  const bars = h("div", { class: "wb-bars" });
  const controls = (change) => Object.fromEntries(data.asks.map((name) => [name, choice(name, data.systems, "", (system) => change({ [name]: system }))]));
  function draw(next) {
    data = next;
    const ends = [data.before, ...data.parts.map((one) => one.to), data.after, 0].map((one) => one.value ?? one);
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    const at = (value) => (value - low) / ((high - low) * 1.2 || 1);
    const whole = ({ name, value, text }) => barLine(name, [{ from: at(0), to: at(value), kind: "wb-whole", text }]);
    const part = ({ name, from, to, text, told }) => barLine(name, [{ from: at(from), to: at(to), kind: to < from ? "wb-lost" : "wb-won", text }], told);
    bars.replaceChildren(h("p", { class: "wb-quiet" }, data.measure), whole(data.before), ...data.parts.map(part), whole(data.after));
  }
  panel(data, model, el, "blame chart", { controls, body: [bars], draw, tables: () => [data.table], code: () => data.code });
}

const [CELL, HIGH, MARGIN] = [52, 26, 110];

function sweepMap(data, model, el) {
  const plane = svg("svg", { class: "wb-map", role: "img" });
  const [across, up] = data.axes;
  const place = (setting) => data.settings.findIndex((one) => one.every((value, n) => value === setting[n]));
  const setting = (state) => data.axes.map((one) => state[one.name]);
  const controls = (change) => Object.fromEntries(data.axes.map(({ name, values }) => [name, steps(name, values, (value) => change({ [name]: value }))]));
  let cells = null;
  function draw(next, state, change) {
    data = next;
    cells ??= build(change);
    const chosen = place(setting(state));
    cells.forEach((cell, n) => cell.classList.toggle("wb-chosen", n === chosen));
    plane.append(cells[chosen]); // its frame lies above its neighbours
    plane.setAttribute("aria-label", data.told[chosen]);
  }
  function build(change) {
    const [low, high] = [Math.min(...data.right), Math.max(...data.right)];
    const [x, y] = [(value) => MARGIN + across.values.indexOf(value) * CELL, (value) => (up.values.length - 1 - up.values.indexOf(value)) * HIGH];
    const made = data.settings.map(([one, other], n) => {
      const marks = [n === data.best ? "★" : "", one === data.now[0] && other === data.now[1] ? "now" : ""].filter(Boolean).join(" ");
      const share = high > low ? (data.right[n] - low) / (high - low) : 1;
      return svg("g", { class: "wb-cell", transform: `translate(${x(one)},${y(other)})`, onclick: () => change({ [across.name]: one, [up.name]: other }) },
        svg("title", {}, `${across.name} ${one}, ${up.name} ${other}: ${data.right[n]} right answers`),
        svg("rect", { width: CELL - 1, height: HIGH - 1, "fill-opacity": 0.06 + 0.6 * share }),
        svg("text", { x: CELL / 2, y: HIGH / 2 + 4, "text-anchor": "middle" }, `${data.right[n]} ${marks}`.trim()));
    });
    const bottom = up.values.length * HIGH;
    const label = (text, at, line, anchor, kind = "") => svg("text", { x: at, y: line, "text-anchor": anchor, class: kind }, text);
    const wide = across.values.length * CELL;
    plane.setAttribute("viewBox", `0 0 ${MARGIN + Math.max(wide, 260) + 10} ${bottom + 44}`);
    plane.style.maxWidth = `${MARGIN + Math.max(wide, 260) + 10}px`;
    plane.replaceChildren(...made, ...across.values.map((value) => label(value, x(value) + CELL / 2, bottom + 15, "middle")), ...up.values.map((value) => label(value, MARGIN - 8, y(value) + HIGH / 2 + 4, "end")), label(`${across.name} →`, MARGIN, bottom + 34, "start", "wb-quiet"), label(`↑ ${up.name}`, 0, bottom + 34, "start", "wb-quiet"));
    return made;
  }
  const sentence = (state) => data.told[place(setting(state))];
  function tables(state) {
    const [head, now, best] = data.table;
    const chosen = place(setting(state));
    return [[head, now, best, ["chosen", ...setting(state), data.scores[chosen], data.silences[chosen]]]];
  }
  const code = (state) => data.code.replaceAll("@place@", place(setting(state)));
  const legend = h("p", { class: "wb-quiet" }, "Each cell is a setting with its right answers, unanswerable questions included; ★ is the best, the frame is the chosen one.");
  panel(data, model, el, "sweep map", { controls, body: [plane, legend], draw, sentence, tables, code });
}

Object.assign(VIEWS, { fixes: fixFinder, blame: blameChart, sweep: sweepMap });
