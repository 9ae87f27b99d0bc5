// Views: one of them predicted from the others, for the row that is selected.
import { clear, el, labelled, latest, number, panel, percent, select, track } from "./kit.js";

export function viewsPanel(page) {
  const { store, call } = page;
  const which = select([], "", (value) => store.set({ view: value }));
  const made = panel("views", "Views", labelled("predict", which));
  const refresh = latest(async () => {
    if (!page.state().model) return;
    const row = Math.max(0, store.get().row);
    const answer = await call("views", { row, view: store.get().view });
    which.parentNode.hidden = answer.working;
    if (answer.working) { made.words.textContent = "The views are being fitted."; return; }
    which.fill(answer.views.map((v) => [v.name, v.name]), answer.view);
    const skill = answer.views.find((v) => v.name === answer.view).skill;
    made.words.textContent = `${answer.view} of ${answer.name}, from the other views alone.${skill === null || skill === undefined ? "" : ` On rows held out they tell ${percent(Math.max(0, skill))} of its variance.`}`;
    const ranges = page.ranges();
    const modelled = page.state().modelled;
    clear(made.body, el("dl", { class: "cells" }, answer.columns.slice(0, 40).flatMap((c) => {
      const [value, low, high] = c.predicted;
      const bar = track();
      const numeric = c.predicted.length === 3;
      if (numeric) {
        const range = ranges[modelled.indexOf(c.column)] || [low, high];
        bar.set(value, low, high, Math.min(range[0], low), Math.max(range[1], high), c.seen);
      }
      return [el("dt", { dir: "auto", text: c.column, title: c.column }),
        el("dd", {}, bar, el("b", { dir: "auto", text: numeric ? number(value) : `${value} (${number(low)})`, title: c.seen === null ? "a hole" : `seen: ${number(c.seen)}` }))];
    })), el("p", { class: "words", text: "The bar is the 90 % interval, the mark the prediction, the ring what was seen." }));
    made.node.dataset.view = answer.view;
  });
  store.on(["row", "view"], refresh);
  made.update = refresh;
  return made;
}
