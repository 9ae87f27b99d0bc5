// Odd rows: along the model and off it, the limits, and which columns are responsible.
import { clear, el, extent, fitCanvas, labelled, latest, many, number, panel, percent, rgb, theme, ticks, track, unpack, write } from "./kit.js";
import { pointPainter } from "./points.js";

export function oddPanel(page) {
  const { store, call, root, tip } = page;
  const level = el("select", { "aria-label": "Level", onchange: () => store.set({ level: Number(level.value) }) },
    [0.9, 0.95, 0.99, 0.995, 0.999].map((v) => el("option", { value: v, text: `${(100 * v).toFixed(1).replace(".0", "")} %` })));
  level.value = String(store.get().level);
  const made = panel("odd", "Odd rows", labelled("level", level));
  const points = el("canvas", { class: "layer", "aria-hidden": "true" });
  const over = el("canvas", { class: "layer over", tabindex: "0", role: "application",
    "aria-label": "Rows by their distance along and off the model. Arrow keys go to the next row in that direction, Home to the oddest, Escape leaves it." });
  const stage = el("div", { class: "stage small" }, points, over);
  const list = el("ol", { class: "oddest" });
  const why = el("div", { class: "why", "aria-live": "polite" });
  made.body.append(stage, el("div", { class: "pair" }, list, why));
  let painter = null;
  let xs = new Float32Array();
  let ys = new Float32Array();
  let answer = null;
  let view = { x0: 0, x1: 1, y0: 0, y1: 1 };
  let size = { width: 1, height: 1, ratio: 1 };
  const log = (v) => Math.log10(Math.max(v, 1e-30));
  // rows that are next to nothing off the model stand three decades below the middle one
  const logs = (values) => {
    const floor = log(Float32Array.from(values).sort()[Math.floor(values.length / 2)]) - 3;
    return Float32Array.from(values, (v) => Math.max(log(v), floor));
  };
  const toX = (v) => ((v - view.x0) / (view.x1 - view.x0)) * size.width;
  const toY = (v) => size.height - ((v - view.y0) / (view.y1 - view.y0)) * size.height;

  function draw() {
    if (!painter || !answer) return;
    const look = theme(root);
    const flags = new Set(unpack(answer.flagged));
    const [plain, odd] = [rgb(look.blue), rgb(look.red)];
    const bytes = new Uint8Array(4 * xs.length);
    for (let i = 0; i < xs.length; i += 1) bytes.set([...(flags.has(i) ? odd : plain), flags.has(i) ? 235 : 150], 4 * i);
    painter.setColours(bytes);
    painter.draw(view, size.ratio);
    const context = over.getContext("2d");
    context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    context.strokeStyle = look.soft;
    context.lineWidth = 1;
    context.setLineDash([5, 4]);
    context.beginPath();
    if (answer.limit_t2 > 0) { context.moveTo(toX(log(answer.limit_t2)), 0); context.lineTo(toX(log(answer.limit_t2)), size.height); }
    if (answer.limit_spe > 0) { context.moveTo(0, toY(log(answer.limit_spe))); context.lineTo(size.width, toY(log(answer.limit_spe))); }
    context.stroke();
    context.setLineDash([]);
    for (const v of ticks(view.x0, view.x1, 4)) if (Number.isInteger(v) && toX(v) > 20 && toX(v) < size.width - 20) write(context, look, number(10 ** v), toX(v), size.height - 6, "center");
    for (const v of ticks(view.y0, view.y1, 4)) if (Number.isInteger(v) && toY(v) < size.height - 22 && toY(v) > 26) write(context, look, number(10 ** v), 6, toY(v) + 4);
    write(context, look, "along the model (T²) →", size.width - 8, size.height - 22, "right");
    write(context, look, "↑ off the model (SPE)", 6, 14);
    const { row } = store.get();
    if (row >= 0 && row < xs.length) {
      context.strokeStyle = look.ink;
      context.lineWidth = 2;
      context.beginPath();
      context.arc(toX(xs[row]), toY(ys[row]), 8, 0, 7);
      context.stroke();
    }
  }

  function nearest(event, most) {
    const box = over.getBoundingClientRect();
    let best = -1;
    let least = most * most;
    for (let i = 0; i < xs.length; i += 1) {
      const far = (toX(xs[i]) - event.clientX + box.left) ** 2 + (toY(ys[i]) - event.clientY + box.top) ** 2;
      if (far < least) { least = far; best = i; }
    }
    return best;
  }
  over.addEventListener("click", (event) => { const row = nearest(event, 14); if (row >= 0) store.set({ row }); });
  over.addEventListener("pointermove", (event) => {
    if (xs.length > 100000) return;
    const row = nearest(event, 9);
    if (row < 0) tip.hide();
    else tip.show(event.clientX, event.clientY, `row ${row + 1}\nT² ${number(10 ** xs[row])}, SPE ${number(10 ** ys[row])}`);
  });
  over.addEventListener("pointerleave", () => tip.hide());

  // The nearest row within a right angle of a direction: what lies aside counts as well as what lies ahead.
  function towards(row, dx, dy) {
    let best = row;
    let least = Infinity;
    for (let i = 0; i < xs.length; i += 1) {
      const a = toX(xs[i]) - toX(xs[row]);
      const b = toY(ys[row]) - toY(ys[i]);
      const ahead = a * dx + b * dy;
      const aside = Math.abs(a * dy) + Math.abs(b * dx);
      if (i !== row && ahead >= aside && ahead > 0 && ahead + aside < least) { least = ahead + aside; best = i; }
    }
    return best;
  }
  over.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const { row } = store.get();
    const oddest = answer && answer.oddest.length ? answer.oddest[0].row : -1;
    if (by || event.key === "Home") store.set({ row: by && row >= 0 && row < xs.length ? towards(row, ...by) : oddest });
    else if (event.key === "Escape") store.set({ row: -1 });
    else return;
    event.preventDefault();
  });

  const refresh = latest(async () => {
    if (!page.state().model) return;
    answer = await call("odd", { level: store.get().level });
    xs = logs(unpack(answer.t2));
    ys = logs(unpack(answer.spe));
    if (!painter) painter = pointPainter(points, xs.length);
    painter.setPoints(xs, ys);
    const room = ([a, b]) => [a - 0.08 * (b - a || 1), b + 0.08 * (b - a || 1)];
    const [x0, x1] = room(extent([...extent(xs), log(answer.limit_t2)]));
    const [y0, y1] = room(extent([...extent(ys), log(answer.limit_spe)]));
    view = { x0, x1, y0, y1 };
    const share = answer.n_flagged / Math.max(1, xs.length);
    made.words.textContent = `${many(answer.n_flagged, "row")} (${percent(share)}) ${answer.n_flagged === 1 ? "is" : "are"} odd. ${answer.held_out
      ? "The limit is one that rows which the model has not seen keep; dashed, the model's own." : "The limit is the model's own; held-out rows will say better."}`;
    clear(list, answer.oddest.slice(0, 12).map((row) => el("li", { class: row.flagged ? "flagged" : "" },
      el("button", { type: "button", class: "link", dir: "auto", text: row.name, onclick: () => store.set({ row: row.row }) }),
      el("span", { class: "numbers", text: number(row.oddness), title: "minus its score; larger is odder" }))));
    draw();
    explain();
  });

  const explain = latest(async () => {
    const { row } = store.get();
    if (row < 0) { clear(why, el("p", { class: "words", text: "Click a row to see which columns make it odd." })); return; }
    const found = await call("row", { row });
    if (!found.odd) return;
    const ranges = page.ranges();
    const modelled = page.state().modelled;
    clear(why, el("h3", { dir: "auto", text: `${found.name}${found.odd.flagged ? ": odd" : ": not odd"}` }),
      el("ul", { class: "responsible" }, found.odd.columns.map((c) => {
        const number_ = c.expected.length === 3;
        const bar = track();
        if (number_) {
          const range = ranges[modelled.indexOf(c.column)] || [c.expected[1], c.expected[2]];
          bar.set(c.expected[0], c.expected[1], c.expected[2], Math.min(range[0], c.expected[1]), Math.max(range[1], c.expected[2]), c.seen);
        }
        const expected = number_ ? `${number(c.expected[0])} (${number(c.expected[1])} to ${number(c.expected[2])})` : `${c.expected[0]} (chance ${number(c.expected[1])})`;
        return el("li", {}, el("span", { class: "name", dir: "auto", text: c.column }), number_ ? bar : el("span"),
          el("span", { class: "numbers", dir: "auto", text: `${number(c.seen)}, expected ${expected}` }));
      })));
    draw();
  });

  store.on(["row"], explain);
  store.on(["level"], refresh);
  fitCanvas(points, draw);
  fitCanvas(over, (width, height, ratio) => { size = { width, height, ratio }; draw(); });
  page.themed(draw);
  made.update = refresh;
  return made;
}
