// The page itself: one store, one line to the server, the panels that the data allow.
import { headOf } from "./actions.js";
import { clustersPanel } from "./clusters.js";
import { columnsPanel } from "./columns.js";
import { evidencePanel } from "./evidence.js";
import { clear, el, tipFor } from "./kit.js";
import { mapPanel } from "./map.js";
import { oddPanel } from "./odd.js";
import { samplesPanel } from "./samples.js";
import { seriesPanel } from "./series.js";
import { createStore } from "./store.js";
import { tablePanel } from "./table.js";
import { viewsPanel } from "./views.js";

const PANELS = { map: mapPanel, table: tablePanel, odd: oddPanel, evidence: evidencePanel, samples: samplesPanel, views: viewsPanel,
  series: seriesPanel, clusters: clustersPanel, columns: columnsPanel };
const BUSY_WAIT = 250;
const CALM_WAIT = 2500;

let pages = 0;

export function explorer(root, home) {
  pages += 1;
  const name = `gramian-${pages}`;
  let state = { state: "loading", panels: [], jobs: [] };
  let revision = null;
  let ended = false;
  let timer = 0;
  let columnRanges = [];
  const themes = [];
  const choosers = [];
  const store = createStore(home.readState(), (text) => home.writeState(text));

  async function call(verb, input) {
    const answer = await home.call(verb, input);
    if (answer.status === 200) return answer.output;
    throw Object.assign(new Error(answer.output.error || "That did not work."), { status: answer.status, wait: answer.status === 409 });
  }

  const page = {
    root, store, call, panels: {}, selection: null, rowCells: null,
    id: (part) => `${name}-${part}`,
    state: () => state,
    ranges: () => columnRanges,
    themed: (work) => themes.push(work),
    onSelection: (work) => choosers.push(work),
    selected: () => choosers.forEach((work) => work()),
    say: (text) => head.say(text),
    setTheme() {
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      themes.forEach((work) => work());
    },
    poll,
  };
  const tip = tipFor(root);
  page.tip = tip;
  const head = headOf(page, home);
  const main = el("main", { class: "panels" });
  const empty = el("div", { class: "empty", role: "status" });
  root.append(head.node, empty, main);
  root.dataset.state = "loading";
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => themes.forEach((work) => work()));

  function show() {
    home.setTitle(`${state.title} · gramian`);
    for (const key of Object.keys(PANELS)) {
      const there = state.panels.includes(key);
      if (there && !page.panels[key]) {
        page.panels[key] = PANELS[key](page);
        const after = Object.keys(PANELS).slice(0, Object.keys(PANELS).indexOf(key)).reverse().find((other) => page.panels[other]);
        if (after) page.panels[after].node.after(page.panels[key].node);
        else main.prepend(page.panels[key].node);
        page.panels[key].fresh = true;
      } else if (!there && page.panels[key]) {
        page.panels[key].node.remove();
        delete page.panels[key];
      }
    }
    head.update(state);
    const words = state.state === "failed" ? ["This did not work.", state.error]
      : !state.rows ? ["The table is being read.", ""] : [];
    empty.hidden = !words.length;
    clear(empty, words.filter(Boolean).map((text, i) => el(i ? "p" : "h2", { text })),
      state.state === "failed" && home.upload ? el("p", { text: "Open another file, or mend this one and start again." }) : null);
  }

  async function refresh() {
    if (state.columns) {
      const told = await call("columns", { count: 200 }).catch(() => null);
      if (told) {
        const found = new Map(told.columns.map((c) => [c.name, c.quartiles ? [c.quartiles[0], c.quartiles[4], c.quartiles[2]] : null]));
        columnRanges = state.modelled.map((column) => found.get(column) || null);
      }
    }
    const order = Object.keys(PANELS).filter((key) => page.panels[key]);
    await Promise.all(order.map((key) => { page.panels[key].fresh = false; return page.panels[key].update(); }));
  }

  async function poll() {
    clearTimeout(timer);
    if (ended) return;
    try {
      state = await call("state");
      root.classList.remove("disconnected");
      if (page.lost) { page.lost = false; head.say("Connected again."); }
      show();
      const fresh = Object.values(page.panels).some((made) => made.fresh);
      if (state.revision !== revision || fresh) {
        revision = state.revision;
        await refresh();
      }
      if (state.note && state.note !== page.noted) { page.noted = state.note; head.say(state.note); }
      root.dataset.state = state.state;
      root.dataset.busy = String(state.jobs.length > 0);
    } catch (error) {
      if (error.status === 403) { ended = true; root.dataset.state = "failed"; head.say("This page is no longer served: open it with the address that the command printed.", true); return; }
      page.lost = !error.status;
      if (page.lost) {
        root.classList.add("disconnected");
        root.dataset.connection = "lost";
      }
      head.say(page.lost ? home.lost : error.message, true);
    }
    if (!page.lost) root.dataset.connection = "there";
    if (!ended) timer = setTimeout(poll, state.jobs.length || !state.rows ? BUSY_WAIT : CALM_WAIT);
  }
  poll();
  return () => { ended = true; clearTimeout(timer); };
}
