// plotly, loaded once a page however many figures it has, and without hurry: anywidget waits two seconds
// for a model, and then throws every message to it away. What arrives before plotly does is kept.

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

export default () => {
  let figure;
  return {
    initialize({ model }) {
      const deliver = keepMessages(model);
      figure = plotly(model.get("_plotly")).then((loaded) => {
        const made = loaded.default();
        made.initialize({ model });
        deliver();
        return made;
      });
    },
    async render({ model, el }) {
      return (await figure).render({ model, el });
    },
  };
};
