// Saves the widgets of a notebook with it, so that they are there when it is opened again without its kernel:
// only those that an output shows. Each also leaves its picture, for a host that does not run widgets.

const STATE = "application/vnd.jupyter.widget-state+json";
const VIEW = "application/vnd.jupyter.widget-view+json";

function views(notebook) {
  const found = [];
  for (const cell of notebook.cells) {
    for (let place = 0; place < (cell.outputs?.length ?? 0); place++) {
      const output = cell.outputs.get(place);
      if (output.data[VIEW]?.model_id) found.push({ id: output.data[VIEW].model_id, output });
    }
  }
  return found;
}

// A progress bar that has ended is an output of no widget. JupyterLab shows nothing for one without a name.
function forget({ output }) {
  output.setData({ data: { ...output.data, [VIEW]: { ...output.data[VIEW], model_id: "" } } });
}

const drawn = (globalThis.workbenchDrawn ??= new Set()); // the elements of all widgets that are shown

// What a widget shows, as an image that runs nothing and loads nothing. Its controls would not move there.
function pictureOf(el) {
  const copy = el.querySelector(".wb-living").cloneNode(true);
  for (const one of copy.querySelectorAll(".wb-controls > :not(fieldset, .wb-picker), details:not(.wb-chunks *, .wb-picker, .wb-words), button, [hidden]")) one.remove();
  for (const one of copy.querySelectorAll(".wb-words")) one.open = true;
  for (const one of copy.querySelectorAll("input")) one.toggleAttribute("checked", one.checked);
  const dark = document.body.dataset.jpThemeLight === "false";
  const [color, width] = [getComputedStyle(el).color, el.offsetWidth || 960];
  const box = document.createElement("div");
  box.className = dark ? "dark" : "light";
  box.style = `position: absolute; width: ${width}px; color: ${color}; background: ${dark ? "#111" : "#fff"}`;
  document.body.append(box);
  box.append(copy);
  const height = box.offsetHeight;
  box.style.position = "static";
  const used = copy.querySelector(".main-svg") ? /wb-|plotly/ : /wb-/;
  const rules = [...document.styleSheets].filter((sheet) => !sheet.href).flatMap((sheet) => [...sheet.cssRules].map((one) => one.cssText));
  const look = document.createElement("style");
  look.textContent = [...new Set(rules.filter((one) => used.test(one))), ".wb-living * { overflow: hidden; }"].join("\n");
  box.prepend(look);
  box.remove();
  const content = new XMLSerializer().serializeToString(box).replace(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, "");
  const image = document.createElement("img");
  image.alt = copy.querySelector("[role=status]")?.textContent ?? "";
  const drawing = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><foreignObject width="100%" height="100%">${content}</foreignObject></svg>`;
  // These signs may stand in an address as they are: a third of the picture is one of them.
  image.src = `data:image/svg+xml,${encodeURIComponent(drawing).replace(/%(?:20|28|29|2C|2F|3A|3B|3D|7B|7D)/g, decodeURIComponent)}`;
  return image.outerHTML;
}

// The line that says how to move it stays, and what follows it becomes the picture. A widget in which somebody works
// keeps the picture that it has: writing one draws the widget anew.
function leavePicture({ id, output }) {
  const el = [...drawn].find((one) => one.classList.contains(`workbench-${id}`));
  const html = String(output.data["text/html"] ?? "");
  const held = el?.querySelector(":active") || (html.includes("<img") && el?.contains(document.activeElement));
  if (!el?.querySelector(".wb-living") || held) return;
  const told = html.slice(0, html.indexOf("</p>") + 4) + pictureOf(el);
  if (told !== html) output.setData({ data: { ...output.data, "text/html": told } });
}

function withParts(ids, states) {
  const found = new Set();
  const open = [...ids];
  while (open.length) {
    const id = open.pop();
    if (found.has(id) || !states[id]) continue;
    found.add(id);
    for (const [, part] of JSON.stringify(states[id]).matchAll(/IPY_MODEL_(\w+)/g)) open.push(part);
  }
  return found;
}

// What links two widgets stands in no output.
const isLink = ({ model_name }) => ["LinkModel", "DirectionalLinkModel"].includes(model_name);

function keep(manager) {
  if (!manager.restoredStatus) return;
  const notebook = manager.context.model;
  const before = notebook.getMetadata("widgets")?.[STATE]?.state ?? {};
  const states = { ...before, ...manager.get_state_sync({ drop_defaults: true }).state };
  const kept = {};
  const outputs = views(notebook);
  outputs.filter(({ id }) => !states[id]).forEach(forget);
  for (const id of withParts(outputs.map(({ id }) => id), states)) kept[id] = states[id];
  for (const [id, one] of Object.entries(states)) if (isLink(one) && [...withParts([id], states)].every((part) => part === id || kept[part])) kept[id] = one;
  notebook.setMetadata("widgets", { [STATE]: { version_major: 2, version_minor: 0, state: kept } });
  outputs.filter(({ id }) => states[id]).forEach(leavePicture);
}

const watched = (globalThis.workbenchWatched ??= new WeakSet());

function initialize({ model }) {
  const manager = model.widget_manager;
  const saving = manager?.context?.saveState; // JupyterLab and Notebook have it
  if (!saving || watched.has(manager)) return;
  watched.add(manager);
  saving.connect((_, phase) => phase === "started" && keep(manager));
}
