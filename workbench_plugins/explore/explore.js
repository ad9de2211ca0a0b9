// The page's model of the explorer: settings go to the server, and its answers come back as data. And what the
// page has beside it: a log of questions, and a map of the memory.
(() => {
  const state = JSON.parse(document.getElementById("state").textContent);
  const heard = [];
  const said = document.getElementById("said");
  const below = document.getElementById("below");
  const { h } = workbenchView;
  let asked = 0;
  let good = state.settings; // those of the last answer
  let shown = ""; // what stands below

  async function post(path, content) {
    const body = JSON.stringify(content);
    const token = new URLSearchParams(location.search).get("token");
    const headers = { "content-type": "application/json", "x-workbench-token": token };
    const answer = await fetch(path, { method: "POST", headers, body }).catch(() => {
      throw new Error("The server does not answer. Start `workbench explore` again.");
    });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.problem);
    return found;
  }

  // Only the answer to the last question is shown: an earlier one may come later.
  async function ask() {
    const mine = ++asked;
    said.textContent = said.className = "";
    try {
      const found = await post("/ask", state.settings);
      if (mine !== asked) return;
      Object.assign(state, { data: found.data });
      good = found.settings;
      if (shown === "map") act({ do: "map", settings: state.settings }, false);
    } catch (error) {
      if (mine !== asked) return;
      said.textContent = `${error.message} The lists still show the last valid question.`;
      said.className = "problem";
      state.settings = { ...good };
      heard.settings();
    }
    heard.forEach((told) => told());
  }

  async function act(content, scroll = true) {
    said.textContent = "working …";
    said.className = "wb-busy";
    try {
      const found = await post("/do", content);
      said.textContent = found.said ?? "";
      const parts = content.do in PARTS ? PARTS[content.do](found[content.do]) : [];
      below.hidden = !(found.html || found.view || parts.length);
      below.replaceChildren(...parts);
      if (found.html) below.innerHTML = found.html; // written by the server, which escapes what notes say
      if (found.view) workbenchView.still(found.view, below);
      shown = below.hidden ? "" : content.do;
      if (scroll && !below.hidden) below.scrollIntoView({ block: "start" });
      said.className = "";
    } catch (error) {
      said.textContent = error.message;
      said.className = "problem";
    }
  }

  // Puts a question to the explorer, and a file if one is expected.
  function put(settings) {
    state.settings = { ...state.settings, ...settings };
    heard.settings?.();
    window.scrollTo({ top: 0 });
    ask();
  }

  function log({ sentence, notes = [], rows = [] }) {
    const input = h("input", { type: "file", accept: ".jsonl,.json,.txt", multiple: "", "aria-label": "files of the log", onchange: read });
    async function read() {
      const files = {};
      for (const one of input.files) files[one.name] = await one.text();
      act({ do: "log", files, settings: state.settings }, false);
    }
    const said = h("p", {}, "Choose a log of real questions: JSONL with one question a line, such as ", h("code", {}, '{"question": "rooibos tea", "expected": "memory/tea.md"}'), ", or OpenClaw's transcripts (", h("code", {}, "~/.openclaw/agents/…/sessions/*.jsonl"), "). Nothing leaves this machine. ", input);
    const cell = (row) => h("button", { onclick: () => put({ question: row.question, target: row.expected }) }, row.question);
    const body = rows.map((row) => h("tr", {}, h("th", { scope: "row" }, cell(row)), h("td", {}, row.said), h("td", {}, row.expected), h("td", {}, row.logged)));
    const head = ["question", "here", "expected file", "in the log"].map((one) => h("th", { scope: "col" }, one));
    const found = rows.length ? [h("div", { class: "ex-rows", tabindex: 0, role: "region", "aria-label": "questions, worst first" }, h("table", { class: "ex-log" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)))] : [];
    return [h("h2", {}, "A log of questions"), said, ...[sentence ?? "", ...notes].filter(Boolean).map((one) => h("p", {}, one)), ...found];
  }

  function map({ sentence, figure, near }) {
    const picture = h("div", { class: "workbench-figure" });
    requestAnimationFrame(() => workbenchFigures.draw(picture, figure)); // when it stands on the page, and has a width
    const items = near.map(({ name, cosine }) => h("li", {}, name, ` cosine ${cosine}`));
    return [h("h2", {}, "A map of the memory"), h("p", {}, sentence), h("div", { class: "ex-map wb-living" }, picture, h("div", {}, h("b", {}, "nearest to the question, by cosine"), h("ol", {}, ...items)))];
  }

  const PARTS = { log, map };
  const { get } = workbenchView.held(state);
  const model = {
    get,
    set(name, value) {
      state.settings = { ...state.settings, [name]: value };
      model.moved ||= !["chunk", "side"].includes(name);
    },
    save_changes() {
      if (model.moved) ask();
      model.moved = false;
    },
    on(name, told) {
      if (name === "change:data") heard.push(told);
      if (name === "change") heard.settings = told;
    },
    send: act,
  };
  workbenchView.render({ model, el: document.getElementById("explorer") });
})();
