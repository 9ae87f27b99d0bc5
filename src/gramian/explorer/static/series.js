// Series: the history, a fan of what comes, and the forecast of an end that was hidden.
import { clear, el, extent, labelled, later, latest, number, panel, select, svg } from "./kit.js";
import { area, frame, path } from "./plot.js";

export function seriesPanel(page) {
  const { store, call } = page;
  const which = select([], "", (value) => store.set({ series: value }));
  const steps = el("input", { type: "range", min: 1, max: 120, value: store.get().steps, "aria-label": "Steps ahead", "data-choose": "steps",
    oninput: () => { count.textContent = steps.value; ask(); } });
  const count = el("b", { text: String(store.get().steps) });
  const ask = later(() => store.set({ steps: Number(steps.value) }), 60);
  const made = panel("series", "Series", labelled("column", which), labelled("steps ahead", el("span", { class: "slide" }, steps, count)));
  const refresh = latest(async () => {
    const answer = await call("series", { column: store.get().series, steps: store.get().steps });
    which.fill(answer.columns.map((name) => [name, name]), answer.column);
    if (answer.working) { made.words.textContent = "The forecaster is being fitted."; return; }
    const n = answer.history.length;
    const ahead = answer.fan.mean.length;
    const width = Math.max(320, made.body.clientWidth - 4);
    const values = [...answer.history, ...answer.fan.bands[0], ...answer.fan.bands[4], ...answer.past.bands[0], ...answer.past.bands[4]].filter(Number.isFinite);
    const [low, high] = extent(values);
    const room = 0.05 * (high - low || 1);
    const all = [n + ahead - 1, 0, n - 1, Math.floor(n / 2)].map((i) => [i, i < n ? answer.times[i] : answer.ahead[i - n]]).filter(([, text]) => text);
    const far = (90 * (n + ahead)) / width; // labels that would touch give way to those before them
    const labels = all.filter(([i], k) => all.slice(0, k).every(([other]) => Math.abs(other - i) > far));
    const drawn = frame(width, 280, [0, n + ahead], [low - room, high + room], { xticks: labels, right: 38, label: `History and forecast of ${answer.column}` });
    const { px, py } = drawn;
    const fan = (told, start, kind) => {
      const at = (line) => line.map((v, i) => [px(start + i), py(v)]);
      drawn.root.append(svg("path", { class: `fan wide ${kind}`, d: area(at(told.bands[4]), at(told.bands[0])) }),
        svg("path", { class: `fan ${kind}`, d: area(at(told.bands[3]), at(told.bands[1])) }),
        svg("path", { class: `mean ${kind}`, d: path(at(told.mean)) }));
    };
    if (answer.hidden < n) fan(answer.past, n - answer.hidden, "past");
    fan(answer.fan, n, "next");
    drawn.root.append(svg("path", { class: "curve", d: path(answer.history.map((v, i) => [px(i), v === null ? NaN : py(v)])) }),
      svg("line", { class: "dashed", x1: px(n - 0.5), x2: px(n - 0.5), y1: 8, y2: 254 }));
    clear(made.body, drawn.root);
    const season = answer.season ? `a season of ${answer.season} steps` : "no season";
    const skill = answer.skill.error ? ` Its error on held-out stretches is ${number(answer.skill.error)}${answer.skill.naive ? `, that of repeating the last value ${number(answer.skill.naive)}` : ""}.` : "";
    made.words.textContent = `${answer.column}: ${season}.${skill} Green: a forecast that has not seen the last ${answer.hidden} values. Bands hold 50 % and 90 %.`;
    made.node.dataset.steps = String(ahead);
  });
  store.on(["series", "steps"], refresh);
  made.update = refresh;
  return made;
}
