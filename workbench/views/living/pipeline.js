// Computes an answer again from a trace: the steps and formulas that workbench/retrieval/formula_export.py writes.
// No number is stored that a formula gives, so the printed, the computed and the moved formula are the same.

const present = (column) => column.filter((value) => !Number.isNaN(value));
const sum = (values) => values.reduce((total, value) => total + value, 0);
const mean = (values) => sum(values) / values.length;
function variance(values, fewer = 0) {
  const middle = mean(values);
  return sum(values.map((value) => (value - middle) ** 2)) / Math.max(1, values.length - fewer);
}
const positive = (values) => values.filter((value) => value > 0).sort((a, b) => a - b);
const least = (values) => values.reduce((one, other) => (other < one ? other : one));
const most = (values) => values.reduce((one, other) => (other > one ? other : one));
// By the names of Python's functions.
const STATISTICS = {
  min: least,
  max: most,
  mean,
  population_deviation: (values) => (least(values) === most(values) ? 0 : Math.sqrt(variance(values))),
  rounded_deviation: (values) => variance(values) ** 0.5,
  sample_deviation: (values) => variance(values, 1) ** 0.5,
  positive_median: (values) => positive(values)[Math.floor(positive(values).length / 2)] ?? 0,
  positive_deviation: (values) => (positive(values).length ? Math.sqrt(variance(positive(values))) : 0) || 1,
};

const OPERATIONS = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
  power: (a, b) => a ** b,
  negative: (a) => -a,
  positive: (a) => a,
  arctan: Math.atan,
  maximum: Math.max,
  minimum: Math.min,
  absolute: Math.abs,
  sqrt: Math.sqrt,
  square: (a) => a * a,
  exp: Math.exp,
  expm1: Math.expm1,
  log: Math.log,
  log1p: Math.log1p,
  log2: Math.log2,
  log10: Math.log10,
  tanh: Math.tanh,
  floor: Math.floor,
  ceil: Math.ceil,
  sign: Math.sign,
  isnan: Number.isNaN,
  isfinite: Number.isFinite,
  isinf: (a) => Math.abs(a) === Infinity,
  less: (a, b) => a < b,
  less_equal: (a, b) => a <= b,
  greater: (a, b) => a > b,
  greater_equal: (a, b) => a >= b,
  equal: (a, b) => a === b,
  not_equal: (a, b) => a !== b,
  invert: (a) => !a,
  logical_not: (a) => !a,
  bitwise_and: (a, b) => a && b,
  logical_and: (a, b) => a && b,
  bitwise_or: (a, b) => a || b,
  logical_or: (a, b) => a || b,
  where: (condition, yes, no) => (condition ? yes : no),
};

// A formula as a function of a row. `scope` has the columns by name, and the parameters of the step.
export function compiled(data, scope) {
  if (!Array.isArray(data)) {
    const number = Number(data);
    return () => number;
  }
  const [name, ...inputs] = data;
  if (name === "column") {
    const column = scope.columns[inputs[0]];
    return (row) => column[row];
  }
  if (name === "parameter") {
    const value = scope.parameters[inputs[0]];
    return () => value;
  }
  if (name === "over") {
    const numbers = present(scope.columns[inputs[1][1]]);
    const value = numbers.length ? STATISTICS[inputs[0]](numbers) : NaN;
    return () => value;
  }
  const operation = OPERATIONS[name];
  const [first, second, third] = inputs.map((one) => compiled(one, scope));
  if (inputs.length === 1) return (row) => operation(first(row));
  if (inputs.length === 2) return (row) => operation(first(row), second(row));
  return (row) => operation(first(row), second(row), third(row));
}

// Falling by the first column, then rising by each of the others. A row without a number comes last.
function compare(columns, one, other) {
  for (const [place, column] of columns.entries()) {
    const [a, b] = place ? [column[one], column[other]] : [-column[one], -column[other]];
    if (Number.isNaN(a) || Number.isNaN(b)) {
      if (Number.isNaN(a) && Number.isNaN(b)) continue;
      return Number.isNaN(a) ? 1 : -1;
    }
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

function cut(state, place, misses) {
  for (const row of state.dropped.keys()) {
    if (state.dropped[row] === -1 && misses(row)) state.dropped[row] = place;
  }
}

const RUN = {
  column(step, state, place, scope) {
    const formula = compiled(step.formula, scope);
    const gate = step.present && state.columns[step.present];
    state.columns[step.column] = state.dropped.map((_, row) =>
      gate && Number.isNaN(gate[row]) ? NaN : Number(formula(row)),
    );
  },
  by(step, state, place, scope, trace) {
    const columns = [step.by, ...step.ties].map((name) => state.columns[name]);
    state.order = state.dropped.map((_, row) => row).sort((a, b) => compare([...columns, trace.ties], a, b));
    state.by = step.by;
  },
  thresholds(step, state, place, scope) {
    const made = step.thresholds.map((one) => [compiled(one.value, scope), compiled(one.limit, scope)]);
    const among = compiled(step.among ?? 1, scope);
    cut(state, place, (row) => among(row) && !made.some(([value, limit]) => value(row) >= limit(row)));
    if ("floor" in step.parameters) state.floors.set(place, scope.parameters.floor);
    state.compared.set(place, (row) =>
      made.map(([value, limit], n) => ({ measure: step.thresholds[n].measure, value: value(row), limit: limit(row) })),
    );
  },
  count(step, state, place, scope) {
    const count = Math.trunc(compiled(step.count, scope)(0));
    const places = [];
    let left = 0;
    for (const row of state.order) if (state.dropped[row] === -1) places[row] = ++left;
    cut(state, place, (row) => places[row] > count);
    state.compared.set(place, (row) => [{ measure: "place among those left", value: places[row], limit: count }]);
  },
  each(step, state, place, scope, trace) {
    const seen = new Set();
    const worse = new Set();
    for (const row of state.order) {
      if (state.dropped[row] !== -1) continue;
      (seen.has(trace.files[row]) ? worse : seen).add(seen.has(trace.files[row]) ? row : trace.files[row]);
    }
    cut(state, place, (row) => worse.has(row));
  },
  // When nothing is left, what a floor has dropped comes back if the keyword leg brought its lines. Where spare
  // places are given away, what another leg has not seen comes back behind the rest.
  rescued(step, state, place, scope, trace) {
    const [score, found, seen] = [step.rescued, step.found, step.unseen ?? 1].map((one) => compiled(one, scope));
    const strict = state.dropped.map((one) => one === -1);
    const some = strict.includes(true);
    if (some && !step.unseen) return;
    const least = step.least === undefined ? 0 : Math.min(compiled(step.least, scope)(0), ...state.floors.values());
    const spots = new Set(trace.spots.filter((_, row) => !Number.isNaN(found(row))));
    const back = strict.map((left, row) => spots.has(trace.spots[row]) && (some ? !left && (seen(row) || 0) === 0 : score(row) >= least));
    for (const row of state.order) if (back[row] && state.floors.has(state.dropped[row])) state.dropped[row] = -1;
    const turn = (row) => (strict[row] ? 0 : back[row] ? 1 : 2);
    if (some) state.order.sort((a, b) => turn(a) - turn(b));
  },
  recorded(step, state, place, scope, trace) {
    const after = trace.recorded[place];
    if (after) Object.assign(state, { order: [...after.order], dropped: [...after.dropped] });
  },
};

// The values of a step's parameters under `settings`, which names them `slot.parameter`.
export function parameters(step, settings) {
  const named = Object.entries(step.parameters).map(([name, one]) => [name, settings[`${step.slot}.${name}`] ?? one.value]);
  return Object.fromEntries(named);
}

// Whether Python has to be asked: a setting is not computed here, or leads to another formula.
export function asks(pipeline, settings) {
  return pipeline.steps.some((step) => {
    const values = parameters(step, settings);
    const moved = Object.entries(step.parameters).some(([name, one]) => values[name] !== one.value && !one.here);
    const scope = { columns: {}, parameters: values };
    return moved || step.guards.some(([condition, held]) => Boolean(compiled(condition, scope)(0)) !== held);
  });
}

const decoded = new WeakMap();

// The numbers of a trace, with NaN for absent; they are decoded once.
function numbers(trace) {
  if (!decoded.has(trace)) {
    const columns = Object.entries(trace.columns).map(([name, column]) =>
      [name, trace.ties.map((_, row) => (Array.isArray(column) ? column[row] : column) ?? NaN)],
    );
    decoded.set(trace, Object.fromEntries(columns));
  }
  return decoded.get(trace);
}

const before = new WeakMap();
let last = {};

// What the settings mean for the steps. It is worked out once for the many traces that a move computes again.
function meaning(pipeline, settings) {
  if (last.pipeline === pipeline && last.settings === settings) return last;
  const values = pipeline.steps.map((step) => parameters(step, settings));
  const kinds = pipeline.steps.map((step) => Object.keys(RUN).filter((name) => name in step));
  const cut = kinds.findIndex((some) => some.some((kind) => kind !== "column" && kind !== "by"));
  const first = cut < 0 ? kinds.length : cut;
  last = { pipeline, settings, values, kinds, first, key: JSON.stringify(values.slice(0, first)) };
  return last;
}

function advance(meant, trace, state, first, end) {
  for (let place = first; place < end; place++) {
    const scope = { columns: state.columns, parameters: meant.values[place] };
    for (const kind of meant.kinds[place]) {
      if (kind === "column" && trace.cut) continue; // the column of the whole trace was sent
      RUN[kind](meant.pipeline.steps[place], state, place, scope, trace);
    }
  }
}

// The scores and the order, before anything is dropped: kept for as long as the parameters there are the same.
function scored(meant, trace) {
  const kept = before.get(trace);
  if (kept?.key === meant.key && kept.pipeline === meant.pipeline) return kept.state;
  const order = trace.ties.map((_, row) => row);
  const state = { columns: { ...numbers(trace) }, order, dropped: order.map(() => -1), compared: new Map(), floors: new Map(), values: meant.values, by: "score" };
  advance(meant, trace, state, 0, meant.first);
  before.set(trace, { key: meant.key, pipeline: meant.pipeline, state });
  return state;
}

// The state after all steps: `columns`, `order`, and in `dropped` the place of the step that dropped a row, or -1.
// `settings` is read, and not changed afterwards: another setting is another object.
export function run(pipeline, trace, settings = {}) {
  const meant = meaning(pipeline, settings);
  if (!trace.ties.length) return { columns: {}, order: [], dropped: [], compared: new Map(), values: meant.values, by: "score" };
  const kept = scored(meant, trace);
  const state = { ...kept, columns: { ...kept.columns }, dropped: [...kept.dropped], compared: new Map(), floors: new Map(), values: meant.values };
  advance(meant, trace, state, meant.first, meant.kinds.length);
  return state;
}

// The rows that are returned, best first.
export const returned = (state) => state.order.filter((row) => state.dropped[row] === -1);

// A number as `write` rounds it. One that is exactly between two goes to the even one, as Python writes it.
function toEven(value, write) {
  const [text, below] = [write(value), write(value * (1 - Number.EPSILON))];
  const between = () => value.toPrecision(100).replace(/0+$/, "").length < 24 && /[13579]$/.test(text.replace(/e.*/, ""));
  return text !== below && between() ? below : text;
}
export const fixed = (value, decimals) => toEven(value, (one) => one.toFixed(decimals));

// A number with so many digits at most, as Python's format `g` writes it.
export function general(value, digits = 6) {
  const rounded = Number(toEven(value, (one) => one.toPrecision(digits)));
  const size = Math.floor(Math.log10(Math.abs(rounded)));
  if (!rounded || (size >= -4 && size < digits)) return String(rounded);
  return rounded.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

// What a step says with these values of its parameters: its text holds the formulas of its numbers.
export function said(step, values) {
  const scope = { columns: {}, parameters: values };
  const number = (formula) => general(Number(compiled(JSON.parse(formula), scope)(0)));
  return step.says.replace(/\{(\[[^{}]*\])\}/g, (_, formula) => number(formula));
}

const TIED = 1e-12; // scores this close differ only by rounding
const tied = (one, other) => Math.abs(one - other) <= TIED * Math.max(1, Math.abs(one), Math.abs(other));

// Two lists fused by a method: best first, with the places that a tie shares, and what each leg gives.
export function fuse(method, lists, values) {
  const scope = { columns: numbers(lists), parameters: values };
  // A formula that has no written form comes as its numbers.
  const numbersOf = (formula) => (typeof formula[0] === "string" ? lists.ties.map(compiled(formula, scope)) : formula.map((value) => value ?? NaN));
  const column = (formula) => numbersOf(formula).map((value) => Number(value) + 0);
  if (!lists.ties.length) return [];
  const scores = column(method.formula);
  const legs = Object.entries(method.parts).map(([leg, part]) => {
    const [ranks, given, parts] = [scope.columns[`${leg}_rank`], scope.columns[`${leg}_score`], column(part)];
    // A leg may give a part to a candidate that it did not bring, which has no rank and no score in it then.
    const rank = (row) => (Number.isNaN(ranks[row]) ? null : ranks[row]);
    const gives = (row) => rank(row) !== null || !Number.isNaN(parts[row]);
    return [leg, (row) => (gives(row) ? { rank: rank(row), score: given[row], part: parts[row] } : null)];
  });
  const order = [...lists.ties].sort((a, b) => scores[b] - scores[a] || a - b);
  const groups = [];
  for (const row of order) {
    if (groups.length && tied(scores[groups.at(-1)[0]], scores[row])) groups.at(-1).push(row);
    else groups.push([row]);
  }
  let before = 0;
  return groups.flatMap((group) => {
    const [first, last] = [before + 1, (before += group.length)];
    return group.map((row) => ({ row, score: scores[row], first, last, legs: Object.fromEntries(legs.map(([leg, of]) => [leg, of(row)])) }));
  });
}
