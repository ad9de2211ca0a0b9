// Saves the widgets of a notebook with it, so that they are there when it is opened again without its kernel:
// only those that an output shows.

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

function keep(manager) {
  if (!manager.restoredStatus) return;
  const notebook = manager.context.model;
  const before = notebook.getMetadata("widgets")?.[STATE]?.state ?? {};
  const states = { ...before, ...manager.get_state_sync({ drop_defaults: true }).state };
  const kept = {};
  const outputs = views(notebook);
  outputs.filter(({ id }) => !states[id]).forEach(forget);
  for (const id of withParts(outputs.map(({ id }) => id), states)) kept[id] = states[id];
  notebook.setMetadata("widgets", { [STATE]: { version_major: 2, version_minor: 0, state: kept } });
}

const watched = (globalThis.workbenchWatched ??= new WeakSet());

function initialize({ model }) {
  const manager = model.widget_manager;
  const saving = manager?.context?.saveState; // JupyterLab and Notebook have it
  if (!saving || watched.has(manager)) return;
  watched.add(manager);
  saving.connect((_, phase) => phase === "started" && keep(manager));
}
