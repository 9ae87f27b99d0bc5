// Samples: rows that the model makes up. Again draws others.
import { clear, el, latest, number, panel, picture } from "./kit.js";

export function samplesPanel(page) {
  const { store, call } = page;
  const made = panel("samples", "Samples", el("button", { type: "button", text: "Again", onclick: () => store.set({ seed: store.get().seed + 1 }) }));
  const refresh = latest(async () => {
    const state = page.state();
    if (!state.model) return;
    const answer = await call("samples", { count: state.image ? 24 : 8, seed: store.get().seed });
    made.words.textContent = "New rows, drawn from the model. Click one to put the point there.";
    const go = (i) => store.set({ latent: answer.latents[i], row: -1 });
    if (state.image) {
      const ranges = page.ranges();
      const low = Math.min(...ranges.map((r) => (r ? r[0] : 0)));
      const high = Math.max(...ranges.map((r) => (r ? r[1] : 1)));
      clear(made.body, el("div", { class: "pictures" }, answer.rows.map((row, i) => {
        const drawn = picture(state.image);
        drawn.set(row, low, high);
        return el("button", { type: "button", class: "bare", "aria-label": `sample ${i + 1}`, onclick: () => go(i) }, drawn);
      })));
    } else {
      const names = answer.names.slice(0, 12);
      clear(made.body, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Samples" }, el("table", { class: "grid" },
        el("thead", {}, el("tr", {}, names.map((name, j) => el("th", { scope: "col", dir: "auto", class: typeof answer.rows[0][j] === "number" ? "n" : "", text: name.slice(0, 40) })))),
        el("tbody", {}, answer.rows.map((row, i) => el("tr", { tabindex: "0", class: "go", onclick: () => go(i), onkeydown: (event) => { if (event.key === "Enter") go(i); } },
          row.slice(0, 12).map((cell) => el("td", { dir: "auto", class: typeof cell === "number" ? "n" : "", text: number(cell) }))))))));
    }
    made.node.dataset.seed = String(store.get().seed);
  });
  store.on(["seed"], refresh);
  made.update = refresh;
  return made;
}
