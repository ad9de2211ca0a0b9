// The page's model of the explorer: settings go to the server, and its answers come back as data. And what the
// page has beside it: where right answers are lost, and tabs of which one is open.
(() => {
  const state = JSON.parse(document.getElementById("state").textContent);
  const heard = [];
  const said = document.getElementById("said");
  const below = document.getElementById("below");
  const { broken, h } = workbenchView;
  let asked = 0;
  let good = state.settings; // those of the last answer
  const [tabs, losses] = ["tabs", "losses"].map((name) => document.getElementById(name));
  const TABS = { diagnose: "Fixes", file: "Read the file", lab: "Threshold lab", map: "Map", log: "Log of questions", report: "Bug report" };
  const OF_THE_QUESTION = ["file", "map"]; // tabs that follow the question
  let shown = ""; // the tab that the reader has pressed: open, or on its way
  let press = Promise.resolve(); // ends with the press of a button
  let lost = ""; // the settings and the number of labels whose losses are shown

  // What arrives meanwhile waits: a page that moved below the pointer would take the press from its button.
  addEventListener("pointerdown", ({ target }) => {
    if (!target.closest("button, summary")) return;
    press = new Promise((done) => ["pointerup", "pointercancel"].forEach((end) => addEventListener(end, () => setTimeout(done), { once: true })));
  });

  async function post(path, content) {
    const body = JSON.stringify(content);
    const token = new URLSearchParams(location.search).get("token");
    const page = (sessionStorage.page ??= crypto.randomUUID()); // a browser keeps it for each tab
    const headers = { "content-type": "application/json", "x-workbench-token": token, "x-workbench-page": page };
    const answer = await fetch(path, { method: "POST", headers, body }).catch(() => {
      throw new Error("The server does not answer. Start `workbench explore` again.");
    });
    const found = await answer.json();
    await press;
    if (!answer.ok) throw new Error(found.problem);
    return found;
  }

  // Only the answer to the last question is shown: an earlier one may come later.
  async function ask(isFix = false) {
    const mine = ++asked;
    said.textContent = said.className = "";
    if (shown === "diagnose" && !isFix) close(); // it is about other settings
    try {
      const found = await post("/ask", state.settings);
      if (mine !== asked) return;
      Object.assign(state, { data: found.data });
      good = found.settings;
      if (OF_THE_QUESTION.includes(shown)) act({ do: shown, settings: state.settings }, false);
      lose();
    } catch (error) {
      if (mine !== asked) return;
      said.textContent = `${error.message} The lists still show the last valid question.`;
      said.className = "problem";
      state.settings = { ...good };
      heard.settings();
    }
    heard.forEach((told) => told());
  }

  function close() {
    shown = "";
    below.hidden = true;
    for (const one of tabs.children) one.setAttribute("aria-expanded", false);
  }

  // Only what was pressed last is opened, and nothing that the reader has closed meanwhile.
  async function act(content, scroll = true) {
    if (content.do in TABS) shown = content.do;
    said.textContent = "working …";
    said.className = "wb-busy";
    try {
      const found = await post("/do", content);
      said.textContent = found.said ?? "";
      said.className = "";
      state.labelled = found.labelled ?? state.labelled;
      lose();
      if (content.do !== shown) return;
      close();
      workbenchView.keepingFocus(below, () => {
        below.replaceChildren(...(PARTS[content.do]?.(found) ?? []));
        if (found.html) below.insertAdjacentHTML("beforeend", found.html); // written by the server, which escapes what notes say
        if (found.view) workbenchView.still(found.view, below);
        shown = content.do;
        below.hidden = false;
      });
      tabs.querySelector(`[data-do="${shown}"]`).setAttribute("aria-expanded", true);
      if (scroll) tabs.scrollIntoView({ block: "start" });
    } catch (error) {
      said.textContent = error.message;
      said.className = "problem";
      if (content.do === shown) shown = tabs.querySelector('[aria-expanded="true"]')?.dataset.do ?? "";
    }
  }

  // How many right files each stage of the two systems lost, over all questions with a label.
  async function lose() {
    const key = JSON.stringify([state.labelled, state.settings.left, state.settings.right, state.settings.moved]);
    losses.hidden = !state.labelled;
    if (losses.hidden || !losses.open || lost === key) return;
    lost = key;
    losses.setAttribute("aria-busy", true);
    let [found, counted] = [null, 0];
    while (!found) {
      losses.firstChild.textContent = `Where right answers are lost: counting, ${counted} of ${state.labelled} questions`;
      const answer = await post("/do", { do: "losses", settings: state.settings }).catch(({ message }) => ({ problem: message }));
      if (lost !== key) return; // another count has begun
      if (answer.problem) return void (losses.firstChild.textContent = answer.problem);
      ({ losses: found, counted } = answer);
    }
    losses.removeAttribute("aria-busy");
    const words = found.map(({ system, asked, returned }) => `${system} returns the right file for ${returned} of ${asked} questions`);
    losses.firstChild.textContent = `Where right answers are lost: ${words.join("; ")}`;
    losses.lastChild.className = "wb-two wb-even";
    losses.lastChild.replaceChildren(...found.map(({ system, asked, stages }) => h("section", { class: "ex-lost", "aria-label": system }, h("h2", {}, system), ...stages.map((one) => lostAt(one, asked)))));
  }
  function lostAt({ stage, lost, left, questions }, asked) {
    const line = [h("span", {}, stage), h("span", {}, h("i", { style: `width: ${(100 * lost) / asked}%` })), h("span", {}, `${lost} lost, ${left} left`)];
    if (!lost) return h("div", { class: "ex-none" }, ...line);
    const ask = ({ question, target }) => h("li", {}, h("button", { onclick: () => put({ question, target }) }, question));
    return h("details", {}, h("summary", {}, ...line), h("ul", {}, ...questions.map(ask)));
  }

  // Puts a question to the explorer, and a file if one is expected.
  function put(settings, isFix = false) {
    state.settings = { ...state.settings, ...settings };
    heard.settings?.();
    window.scrollTo({ top: 0 });
    ask(isFix);
  }

  // A fix moves the settings of its side, or puts another system there: each of them the settings that were diagnosed.
  function diagnose({ fixes }) {
    const { left, right, moved: before } = state.settings;
    function move({ side, moved, system }) {
      const { [side]: own, ...other } = before;
      put({ left, right, ...(system ? { [side]: system, moved: other } : { moved: { ...other, [side]: { ...own, ...moved } } }) }, true);
    }
    const items = fixes.map((one) => h("li", {}, h("button", { onclick: () => move(one) }, one.name), " ", h("small", {}, one.price)));
    return items.length ? [h("h2", {}, "Fixes that are settings of this page: press one to try it here"), h("ol", { class: "ex-fixes" }, ...items)] : [];
  }

  function log({ log: { sentence, notes = [], rows = [] } }) {
    const input = h("input", { type: "file", accept: ".jsonl,.json,.txt", multiple: "", "aria-label": "files of the log", onchange: read });
    async function read() {
      const files = {};
      for (const one of input.files) files[one.name] = await one.text();
      act({ do: "log", files, settings: state.settings }, false);
    }
    const said = h("p", {}, "Choose a log of real questions: JSONL with one question a line, such as ", h("code", {}, '{"question": "rooibos tea", "expected": "memory/tea.md"}'), ", or OpenClaw's transcripts (", h("code", {}, "~/.openclaw/agents/…/sessions/*.jsonl"), "). Nothing leaves this machine. ", input);
    const cell = (row) => h("button", { onclick: () => put({ question: row.question, target: row.expected }) }, row.question);
    const body = rows.map((row) => h("tr", {}, h("th", { scope: "row" }, cell(row)), h("td", {}, row.said), h("td", {}, ...broken(row.expected)), h("td", {}, row.logged)));
    const head = ["question", "here", "expected file", "in the log"].map((one) => h("th", { scope: "col" }, one));
    const found = rows.length ? [h("div", { class: "ex-rows", tabindex: 0, role: "region", "aria-label": "questions, worst first" }, h("table", { class: "ex-log" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)))] : [];
    return [h("h2", {}, "A log of questions"), said, ...[sentence ?? "", ...notes].filter(Boolean).map((one) => h("p", {}, one)), ...found];
  }

  function map({ map: { sentence, figure, near } }) {
    const picture = h("div", { class: "workbench-figure" });
    requestAnimationFrame(() => workbenchFigures.draw(picture, figure)); // when it stands on the page, and has a width
    const items = near.map(({ name, cosine }) => h("li", {}, name, ` cosine ${cosine}`));
    return [h("h2", {}, "A map of the memory"), h("p", {}, sentence), h("div", { class: "ex-map wb-living" }, picture, h("div", {}, h("b", {}, "nearest to the question, by cosine"), h("ol", {}, ...items)))];
  }

  // A pasted bug report: what it says, in colour and in a form that corrects it.
  function report({ report: found }) {
    const box = h("textarea", { rows: 6, "aria-label": "the report", placeholder: "Paste a bug report." });
    const asked = (content) => act({ do: "report", settings: state.settings, ...content }, false);
    const read = h("button", { onclick: () => asked({ text: box.value }).then(() => below.querySelector("[role=group]")?.scrollIntoView()) }, "Read the report");
    const place = h("div", {});
    if (found) {
      box.value = found.data.pieces.map((one) => one.text).join("");
      const own = held(found);
      let changed = {};
      const set = (name, value) => own.set(name, (changed[name] = value));
      const save_changes = () => Object.keys(changed).length && asked({ change: changed });
      workbenchView.render({ model: { ...own, set, save_changes, send: (press) => asked({ press }) }, el: place });
    }
    return [h("h2", {}, "A bug report"), box, h("p", {}, read, " Nothing leaves this machine."), place];
  }

  const PARTS = { diagnose, log, map, report };
  for (const [name, label] of Object.entries(TABS)) {
    const pressed = ({ currentTarget }) => (currentTarget.getAttribute("aria-expanded") === "true" ? close() : act({ do: name, settings: state.settings }));
    tabs.append(h("button", { "data-do": name, "aria-expanded": "false", "aria-controls": "below", onclick: pressed }, label));
  }
  addEventListener("keydown", ({ key, target }) => {
    if (key !== "Escape" || !shown || target.closest(".wb-picker[open]")) return;
    const pressed = tabs.querySelector(`[data-do="${shown}"]`);
    close();
    pressed.focus();
  });
  const { held } = workbenchView;
  const { get } = held(state);
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
  losses.addEventListener("toggle", lose);
  workbenchView.render({ model, el: document.getElementById("explorer") });
  lose();
})();
