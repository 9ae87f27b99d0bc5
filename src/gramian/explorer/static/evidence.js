// How many: what was tried, how it scored on held-out data. Drag the slider and all panels follow.
import { clear, el, extent, later, latest, number, panel, svg } from "./kit.js";
import { frame, path } from "./plot.js";

export function evidencePanel(page) {
  const { call } = page;
  const made = panel("evidence", "How many");
  const axes = counter("q", "axes", (value) => choose({ q: value }));
  const groups = counter("clusters", "clusters", (value) => choose({ clusters: value }));
  made.body.append(axes.node, groups.node);

  const send = latest(async (asked) => {
    try { await call("choose", asked); } catch (error) { page.say(error.message); }
    await page.poll();
  });
  const choose = later(send, 150);

  const refresh = latest(async () => {
    if (!page.state().model) return;
    const answer = await call("evidence");
    axes.show(answer.components, answer.q, answer.most_q, answer.explained);
    groups.show(answer.mixtures, answer.clusters, 12);
    groups.node.hidden = answer.clusters === null;
    made.words.textContent = "Higher is better, on rows or cells that the model has not seen; the whiskers are one standard error.";
  });
  made.update = refresh;
  return made;
}

function counter(key, what, changed) {
  const picture_ = el("div", { class: "drawing" });
  const slider = el("input", { type: "range", min: 1, max: 2, step: 1, "aria-label": `Number of ${what}`, "data-choose": key,
    oninput: () => { now.textContent = slider.value; changed(Number(slider.value)); } });
  const now = el("b", {});
  const auto = el("button", { type: "button", class: "quiet", text: "as the evidence says", onclick: () => changed(0) });
  const reason = el("p", { class: "words" });
  const node = el("div", { class: "counter" }, el("h3", {}, `${what}: `, now), picture_, el("div", { class: "slide" }, slider, auto), reason);
  return {
    node,
    show(told, current, most) {
      now.textContent = current ?? "";
      const high = Math.max(most, current || 1);
      slider.max = String(high);
      if (document.activeElement !== slider) slider.value = String(current || 1);
      reason.textContent = told ? `${told.reason}.` : "";
      if (!told || told.candidates.length < 2) { clear(picture_); return; }
      const shown = told.candidates.map((c, i) => [c, told.scores[i], told.errors[i]]).filter(([, s]) => s !== null).slice(0, 80);
      const scores = shown.map(([, s]) => s);
      const best = Math.max(...scores);
      const [low] = extent(scores.filter((s) => s > best - 12 * Math.max(1e-9, spread(scores))));
      const y = [low - 0.08 * (best - low || 1), best + 0.12 * (best - low || 1)];
      const x = [shown[0][0] - 0.5, shown[shown.length - 1][0] + 0.5];
      const every = Math.ceil(shown.length / 12);
      const xticks = shown.filter((_, i) => i % every === 0).map(([c]) => [c, String(c)]);
      const drawn = frame(420, 170, x, y, { xticks, role: "radiogroup", label: `Held-out score by the number of ${what}. Arrow keys go from one to the next, Enter takes it.` });
      const held = picture_.contains(document.activeElement) ? document.activeElement.dataset.candidate : null;
      const dots = [];
      drawn.root.append(svg("path", { class: "curve", d: path(shown.map(([c, s]) => [drawn.px(c), drawn.py(Math.max(s, y[0]))])) }));
      for (const [c, s, e] of shown) {
        if (s < y[0]) continue;
        if (e) drawn.root.append(svg("line", { class: "whisker", x1: drawn.px(c), x2: drawn.px(c), y1: drawn.py(Math.max(y[0], s - e)), y2: drawn.py(Math.min(y[1], s + e)) }));
        const told = `${c} ${what}: ${number(s)}`;
        const dot = svg("circle", { class: c === current ? "chosen dot" : "dot", cx: drawn.px(c), cy: drawn.py(s), r: c === current ? 6 : 3.5,
          role: "radio", "aria-checked": String(c === current), "aria-label": told, "data-candidate": c, tabindex: "-1" }, svg("title", {}, told));
        dot.addEventListener("click", () => changed(c));
        drawn.root.append(dot);
        dots.push(dot);
      }
      // one stop of the Tab key; arrows go from dot to dot
      const stop = dots.find((dot) => dot.dataset.candidate === held) || dots.find((dot) => dot.getAttribute("aria-checked") === "true") || dots[0];
      const go = (dot) => { for (const other of dots) other.setAttribute("tabindex", other === dot ? "0" : "-1"); };
      if (stop) go(stop);
      drawn.root.addEventListener("keydown", (event) => {
        const at = dots.indexOf(document.activeElement);
        if (at < 0) return;
        const to = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0, End: dots.length - 1 }[event.key];
        if (to !== undefined) { const dot = dots[Math.min(dots.length - 1, Math.max(0, to))]; go(dot); dot.focus(); }
        else if (event.key === "Enter" || event.key === " ") changed(Number(dots[at].dataset.candidate));
        else return;
        event.preventDefault();
      });
      clear(picture_, drawn.root);
      if (held !== null && stop) stop.focus({ preventScroll: true });
    },
  };
}

function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.75)] - sorted[Math.floor(sorted.length * 0.25)] || sorted[sorted.length - 1] - sorted[0] || 1;
}
