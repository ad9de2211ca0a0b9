// A figure of plotly: drawn from its model, and again whenever the model changes. A click on a mark is sent.
// plotly, 5 MB, is loaded once a page however many figures it has. The first figure of a kernel brings it; a
// page that is opened later asks for it. What is pressed in a widget is the widget's: JupyterLab would take its
// arrow keys and letters. And a slider's handle gets the name of its label, which ipywidgets leaves beside it.

const LOADING =
  "The figure is loading. If the notebook's kernel has ended, run its cells again (Run, Run All Cells).";
const SAVED =
  "This is the saved picture of a widget. To use it, run the notebook's cells again (Run, Run All Cells).";
const PATIENCE = 3000; // milliseconds until a second figure asks for plotly

const page = (globalThis.workbenchPlotly ??= Promise.withResolvers());
globalThis.workbenchFigures ??= new Map();

function loadPlotly(model) {
  model.on("msg:custom", (message, [source]) => {
    if (message !== "plotly" || page.loading) return;
    page.loading = true;
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    page.resolve(import(address).then(() => globalThis.Plotly));
  });
  const ask = () => page.loading || model.send("plotly");
  setTimeout(ask, page.asked ? PATIENCE : 0);
  page.asked = true;
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

function showPicture(model, el) {
  const note = document.createElement("p");
  note.textContent = SAVED;
  el.innerHTML = model.get("still");
  el.classList.add("js-plotly-plot", "workbench-still");
  el.prepend(note);
  whenShown(el, (panel) => {
    panel.inert = true;
    panel.classList.add("workbench-saved");
  });
}

export default {
  initialize({ model }) {
    if (!model.get("still")) loadPlotly(model);
  },
  async render({ model, el, signal }) {
    whenShown(el, (panel) => {
      keepKeys(panel);
      nameSliders(panel);
    });
    if (model.get("still")) return showPicture(model, el);
    globalThis.workbenchFigures.set(model.get("key"), el);
    el.textContent = LOADING;
    const plotly = await page.promise;
    if (signal?.aborted) return; // the page has taken it off meanwhile
    el.textContent = "";
    const clicked = ({ points }) => {
      const marks = points.map(({ data, pointNumber: point, x, y }) => {
        return { trace: data.name ?? "", type: data.type, point, x, y };
      });
      model.send({ clicked: marks });
    };
    const draw = async () => {
      const { data, layout } = JSON.parse(model.get("drawn"));
      // Not plotly.react, which draws no text where there was none before.
      await plotly.newPlot(el, data, layout, { displayModeBar: false });
      el.removeAllListeners("plotly_click");
      el.on("plotly_click", clicked);
    };
    await draw();
    model.on("change:drawn", draw);
    return () => {
      model.off("change:drawn", draw);
      plotly.purge(el);
    };
  },
};
