// A widget of a notebook. The module comes once a page, from the hidden widget that carries it.
const unpacked = (bytes) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
const carrierOf = (model) => model.widget_manager.get_model(model.get("carrier").replace("IPY_MODEL_", ""));

async function load(model) {
  const text = await unpacked((await carrierOf(model)).get("module"));
  return (await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })))).default;
}

const loaded = (globalThis.workbenchModules ??= new Map());
function moduleOf(model) {
  const carrier = model.get("carrier");
  if (!loaded.has(carrier)) loaded.set(carrier, load(model));
  return loaded.get(carrier);
}

export default {
  async initialize(shown) {
    return (await moduleOf(shown.model)).initialize(shown);
  },
  async render(shown) {
    return (await moduleOf(shown.model)).render(shown);
  },
};
