// Draws the figures of a page with plotly.js, which is loaded once, and follows the width of the page.
(() => {
  const CONFIG = { responsive: true, displaylogo: false, typesetMath: false };

  // The words of a figure stay: a screen reader hears them in place of the drawing.
  function draw(element, { data, layout }) {
    const words = layout.meta?.words ?? "";
    if (words) {
      element.setAttribute("role", "figure");
      element.setAttribute("aria-label", words);
    }
    element.style.height = `${layout.height}px`; // which plotly forgets when the page is resized
    // Numbers that do not fit into their cells would be too small to read. Pointing at a cell shows its number.
    for (const one of data) if (one.type === "heatmap" && element.clientWidth < 70 * one.x.length) one.texttemplate = "";
    return Plotly.newPlot(element, data, { ...layout, autosize: true }, CONFIG);
  }

  function drawAll() {
    for (const figure of document.querySelectorAll(".workbench-figure > script")) {
      const spec = JSON.parse(figure.textContent);
      const element = figure.parentElement;
      element.replaceChildren();
      draw(element, spec);
    }
  }

  globalThis.workbenchFigures = { draw };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", drawAll);
  else drawAll();
})();
