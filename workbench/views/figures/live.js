// plotly, loaded once a page however many figures it has, and without hurry: anywidget waits two seconds
// for a model, and then throws every message to it away. What arrives before plotly does is kept.
// Figures only listen: plotly would send the kernel every default of every trace after every change.
// And what is pressed in a widget is the widget's: JupyterLab would take its arrow keys and letters.

const MESSAGES = ["_py2js_update", "_py2js_restyle", "_py2js_relayout"];

function plotly(source) {
  globalThis.workbenchPlotly ??= import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  return globalThis.workbenchPlotly;
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

function listening(model) {
  return {
    get: (name) => model.get(name),
    on: (event, listener) => model.on(event, listener),
    set() {},
    save_changes() {},
  };
}

function keepKeys(figure) {
  const suppress = ({ target }) => target.setAttribute("data-lm-suppress-shortcuts", "true");
  new IntersectionObserver(([entry], observer) => {
    if (!entry.isIntersecting) return;
    figure.closest("[class*=workbench-]")?.addEventListener("focusin", suppress);
    observer.disconnect();
  }).observe(figure);
}

export default () => {
  let figure;
  return {
    initialize({ model }) {
      const deliver = keepMessages(model);
      figure = plotly(model.get("_plotly")).then((loaded) => {
        const made = loaded.default();
        made.initialize({ model: listening(model) });
        deliver();
        return made;
      });
    },
    async render({ model, el }) {
      keepKeys(el);
      return (await figure).render({ model, el });
    },
  };
};
