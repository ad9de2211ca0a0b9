// The page's model of the explorer: settings go to the server, and its answers come back as data.
(() => {
  const state = JSON.parse(document.getElementById("state").textContent);
  const heard = [];
  const said = document.getElementById("said");
  const below = document.getElementById("below");
  let asked = 0;

  async function post(path, content) {
    const body = JSON.stringify(content);
    const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.problem);
    return found;
  }

  // Only the answer to the last question is shown: an earlier one may come later.
  async function ask() {
    const mine = ++asked;
    said.textContent = "";
    try {
      const found = await post("/ask", state.settings);
      if (mine === asked) Object.assign(state, { data: found.data });
    } catch (error) {
      said.textContent = `${error.message} The lists still show the last valid question.`;
    }
    if (mine === asked) heard.forEach((told) => told());
  }

  async function act(content) {
    said.textContent = "working …";
    try {
      const found = await post("/do", content);
      said.textContent = found.said ?? "";
      below.hidden = !(found.html || found.view);
      if (found.html) below.innerHTML = found.html; // written by the server, which escapes what notes say
      if (found.view) workbenchView.render({ model: fixed(found.view), el: below });
      below.scrollIntoView({ block: "nearest" });
    } catch (error) {
      said.textContent = error.message;
    }
  }

  const fixed = (view) => ({ get: (name) => view[name], set() {}, save_changes() {}, send() {}, alone: true });
  const model = {
    get: (name) => state[name],
    set(name, value) {
      const before = state[name];
      state[name] = value;
      model.moved = Object.keys(value).some((one) => !["chunk", "side"].includes(one) && value[one] !== before[one]);
    },
    save_changes: () => model.moved && ask(),
    on: (name, told) => name === "change:data" && heard.push(told),
    send: act,
  };
  workbenchView.render({ model, el: document.getElementById("explorer") });
})();
