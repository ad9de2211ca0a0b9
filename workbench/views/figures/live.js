// plotly, loaded once a page however many figures it has, and without hurry: a model has two seconds to start
// (see catchUp). What arrives before plotly does is kept.
// Figures only listen, except that a click on a mark is sent: plotly would send the kernel every default of
// every trace after every change, and all that the mouse passes over.
// What changes a figure before it is shown, plotly applies to the data as they came, and takes the word with
// which Python says "this trace keeps its own" for a value: the trace would lose what it has.
// What is pressed in a widget is the widget's: JupyterLab would take its arrow keys and letters. And a slider's
// handle gets the name of its label, which ipywidgets leaves beside it.

const MESSAGES = ["_py2js_animate", "_py2js_update", "_py2js_restyle", "_py2js_relayout"];

const LOADING =
  "The figure is loading. If the notebook's kernel has ended, run its cells again (Run, Run All Cells).";
const SAVED =
  "This is the saved picture of a widget. To use it, run the notebook's cells again (Run, Run All Cells).";

// The first source that arrives is plotly for the whole page. A page that is opened late asks for it.
const page = (globalThis.workbenchPlotly ??= Promise.withResolvers());
globalThis.workbenchFigures ??= new Map();

function receivePlotly(model) {
  model.on("msg:custom", ({ workbench }, [source]) => {
    if (workbench === "plotly" && !page.loading) {
      page.loading = true;
      page.resolve(import(URL.createObjectURL(new Blob([source], { type: "text/javascript" }))));
    } else if (workbench === "sent" && !page.loading) {
      model.send({ workbench: "plotly!" });
    }
  });
  if (!page.loading) model.send({ workbench: "plotly?" });
}

function keepMessages(model) {
  const kept = [];
  const listeners = MESSAGES.map((name) => {
    const listener = () => model.get(name) !== null && kept.push([name, model.get(name)]);
    model.on(`change:${name}`, listener);
    return [name, listener];
  });
  return function deliver() {
    for (const [name, listener] of listeners) model.off(`change:${name}`, listener);
    for (const [name, message] of kept) {
      model.set(name, message);
      model.set(name, null);
    }
  };
}

// anywidget waits two seconds for a model to start, and rejects every message to one that took longer, also the
// later ones (`await runtime?.ready` in its `_handle_comm_msg`). Such a figure listens without anywidget. It asks
// for its state, in which are the changes that it has missed, and for plotly.
async function catchUp(model) {
  const whole = await model.widget_manager.get_model(model.get("_key"));
  const nothing = { content: { data: {} } };
  const heard = await whole._handle_comm_msg(nothing).then(() => true, () => false);
  if (heard || !whole.comm) return;
  const listen = Object.getPrototypeOf(whole.constructor.prototype)._handle_comm_msg;
  await new Promise((resolve) => {
    whole.comm.on_msg(async (message) => {
      await listen.call(whole, message);
      if (message.content.data.method === "update") resolve();
    });
    whole.comm.send({ method: "request_state" }, whole.callbacks());
    if (!page.loading) model.send({ workbench: "plotly?" });
  });
}

function withoutKept(value) {
  if (value === "_undefined_") return undefined;
  if (Array.isArray(value)) return value.map(withoutKept);
  if (value?.constructor !== Object) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withoutKept(part)]));
}

function listening(model) {
  let clicked = false;
  return {
    get: (name) => (MESSAGES.includes(name) ? withoutKept(model.get(name)) : model.get(name)),
    on: (event, listener) => model.on(event, listener),
    set(name, value) {
      if (name !== "_js2py_pointsCallback" || value?.event_type !== "plotly_click") return;
      model.set(name, value);
      clicked = true;
    },
    save_changes() {
      if (clicked) model.save_changes();
      clicked = false;
    },
  };
}

// A page can take a figure off before this callback runs, and put it back at once. The observer does not report
// that. So a figure that is off the page is observed anew.
function whenShown(figure, act) {
  new IntersectionObserver((entries, observer) => {
    if (!entries.at(-1).isIntersecting) return;
    observer.disconnect();
    if (!figure.isConnected) return observer.observe(figure);
    const panel = figure.parentElement.closest("[class*=workbench-]");
    if (panel) act(panel);
  }).observe(figure);
}

function keepKeys(panel) {
  panel.addEventListener("focusin", ({ target }) => target.setAttribute("data-lm-suppress-shortcuts", "true"));
}

function nameSliders(panel) {
  for (const slider of panel.querySelectorAll(".widget-slider")) {
    const label = slider.querySelector(".widget-label").textContent;
    slider.querySelector(".noUi-handle").setAttribute("aria-label", label);
  }
}

// A slider's moves wait here while the kernel is busy. When a choice sets the slider, they are out of date.
// This begins when the panel is shown: before that, the page may not have the models of its controls yet.
async function dropOldMoves(model) {
  const { by, controls = [] } = model.get("_resets");
  if (!by) return;
  const [chosen, ...moved] = await Promise.all([by, ...controls].map((id) => model.widget_manager.get_model(id)));
  chosen.on("change:index", () => {
    for (const control of moved) if (control._msg_buffer) control._msg_buffer = null;
  });
}

function showPicture(model, el) {
  const note = document.createElement("p");
  note.textContent = SAVED;
  el.innerHTML = model.get("_still");
  el.classList.add("js-plotly-plot", "workbench-still");
  el.prepend(note);
  whenShown(el, (panel) => {
    panel.inert = true;
    panel.classList.add("workbench-saved");
  });
}

export default () => {
  let figure;
  return {
    initialize({ model }) {
      if (model.get("_still")) return;
      const deliver = keepMessages(model);
      receivePlotly(model);
      // Another front end may keep its models elsewhere. There a figure is drawn as it came.
      const caughtUp = catchUp(model).catch((reason) => console.warn("workbench:", reason));
      figure = Promise.all([page.promise, caughtUp]).then(([loaded]) => {
        const made = loaded.default();
        made.initialize({ model: listening(model) });
        deliver();
        return made;
      });
    },
    async render({ model, el, signal }) {
      whenShown(el, (panel) => {
        keepKeys(panel);
        nameSliders(panel);
        if (!model.get("_still")) dropOldMoves(model);
      });
      if (model.get("_still")) return showPicture(model, el);
      globalThis.workbenchFigures.set(model.get("_key"), el);
      el.textContent = LOADING;
      const made = await figure;
      if (signal?.aborted) return; // the page has taken it off meanwhile
      el.textContent = "";
      return made.render({ model, el });
    },
  };
};
