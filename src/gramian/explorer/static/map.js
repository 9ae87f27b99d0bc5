// The map: rows as points, a point of latent space to drag, the row that it stands for.
import { clear, el, extent, fitCanvas, isDark, labelled, later, latest, many, number, panel, picture, ramp, rgb, select, theme, ticks, track,
  unpack, write } from "./kit.js";
import { pointPainter } from "./points.js";

const SHOWN_COLUMNS = 24;

export function mapPanel(page) {
  const { store, call, tip, root } = page;
  const xAxis = select([], "", (value) => store.set({ x: Number(value), polygon: null }));
  const yAxis = select([], "", (value) => store.set({ y: Number(value), polygon: null }));
  const colourBy = select([["", "nothing"]], "", (value) => store.set({ colour: value }));
  const found = el("datalist", { id: page.id("found") });
  const search = el("input", { type: "search", placeholder: "row or text", list: found.id, "aria-label": "Search a row",
    oninput: () => look(search.value), onkeydown: (event) => { if (event.key === "Enter") choose(search.value); } });
  const surely = el("button", { type: "button", text: "Ellipses", title: "Where each row may as well lie, nine times of ten; of at most 5,000 rows",
    onclick: () => store.set({ ellipses: !store.get().ellipses }) });
  const tools = toolButtons(store);
  const made = panel("map", "Map", labelled("across", xAxis), labelled("up", yAxis), labelled("colour", colourBy), surely, tools, labelled("find", search), found);
  const points = el("canvas", { class: "layer", "aria-hidden": "true" });
  const over = el("canvas", { class: "layer over", tabindex: "0", role: "application",
    "aria-label": "Map of rows. Arrow keys move the point, plus and minus zoom, 0 shows everything, Enter takes the nearest row. Space sets a corner of a lasso at the point; from three on, L closes it." });
  const legend = el("div", { class: "legend" });
  const zoomer = el("div", { class: "zoom" },
    el("button", { type: "button", text: "+", "aria-label": "Zoom in", onclick: () => zoom(0.7) }),
    el("button", { type: "button", text: "−", "aria-label": "Zoom out", onclick: () => zoom(1 / 0.7) }),
    el("button", { type: "button", text: "⤢", "aria-label": "Show everything", onclick: () => { home(); draw(); } }));
  const stage = el("div", { class: "stage" }, points, over, zoomer, legend);
  const side = el("div", { class: "side" });
  made.body.append(stage, side);

  let painter = null;
  let xs = new Float32Array();
  let ys = new Float32Array();
  let colour = { kind: "none" };
  let shown = { colours: new Uint8Array(), rings: null };
  let chosen = new Uint8Array();
  let view = { x0: -1, x1: 1, y0: -1, y1: 1 };
  let size = { width: 1, height: 1, ratio: 1 };
  let lasso = null;
  let ellipse = null;
  let ellipses = null;
  let drawn = 0;
  const decoded = decodedRow(page);
  const aside = { decoded, sliders: el("div", { class: "sliders" }), near: el("div", { class: "near" }), apart: el("div", { class: "apart" }) };
  side.append(decoded.node, aside.near, aside.apart, aside.sliders);

  // ---------------------------------------------------------------- what is drawn
  const toX = (v) => ((v - view.x0) / (view.x1 - view.x0)) * size.width;
  const toY = (v) => size.height - ((v - view.y0) / (view.y1 - view.y0)) * size.height;
  const fromX = (p) => view.x0 + (p / size.width) * (view.x1 - view.x0);
  const fromY = (p) => view.y0 + ((size.height - p) / size.height) * (view.y1 - view.y0);

  // The part of the map that is shown is kept in the address, once it rests.
  const keep = later(() => store.set({ zoom: away ? [view.x0, view.x1, view.y0, view.y1] : null }), 200);
  let away = false;
  function look_at(next) {
    view = next;
    away = true;
    keep();
    draw();
  }

  function home() {
    away = false;
    keep();
    const [a, b] = extent(xs);
    const [c, d] = extent(ys);
    const dx = (b - a || 1) * 0.06;
    const dy = (d - c || 1) * 0.06;
    view = { x0: a - dx, x1: b + dx, y0: c - dy, y1: d + dy };
  }

  // Values that have a mark of their own: eight colours, and the same as rings where points are large enough.
  const marks = () => Math.min(colour.labels.length, painter && painter.kind === "canvas" ? 16 : 8);

  function paint() {
    if (!painter || !xs.length) return;
    const look = theme(root);
    const dark = isDark(root);
    const bytes = new Uint8Array(4 * xs.length);
    const some = chosen.length === xs.length && chosen.includes(1);
    const full = xs.length > 200000 ? 110 : xs.length > 20000 ? 170 : 205;
    const steps = Array.from({ length: 65 }, (_, i) => ramp(i / 64, dark));
    const flat = rgb(look.blue);
    const faint = rgb(look.soft);
    const palette = Array.from({ length: 8 }, (_, i) => rgb(look[`c${i}`]));
    for (let i = 0; i < xs.length; i += 1) {
      let shade = flat;
      if (colour.kind === "number") {
        const v = colour.values[i];
        shade = Number.isFinite(v) ? steps[Math.round(64 * Math.min(1, Math.max(0, (v - colour.low) / (colour.high - colour.low || 1))))] : faint;
      } else if (colour.kind === "category") shade = colour.codes[i] < marks() ? palette[colour.codes[i] % 8] : faint;
      bytes[4 * i] = shade[0]; bytes[4 * i + 1] = shade[1]; bytes[4 * i + 2] = shade[2];
      bytes[4 * i + 3] = some && !chosen[i] ? Math.round(full * 0.18) : full;
    }
    shown = { colours: bytes, rings: colour.kind === "category" ? colour.codes.map((code) => Number(code >= 8 && code < marks())) : null };
    painter.setColours(shown.colours);
    painter.setRings(shown.rings);
    drawnView = "";
  }

  let asked = false;
  let drawnView = "";
  const rest = later(() => { drawnView = ""; draw(); }, 160);
  function repaint() { drawnView = ""; draw(); }
  function draw() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; drawNow(); });
  }

  function drawNow() {
    const moved = `${view.x0} ${view.x1} ${view.y0}`;
    if (painter && moved !== drawnView) {
      const moving = drawnView !== "" && painter.kind === "webgl";
      painter.draw(view, size.ratio, moving);
      drawnView = moved;
      if (moving) rest();
      made.node.dataset.drawn = String(painter.drawn ?? xs.length);
    }
    const context = over.getContext("2d");
    const look = theme(root);
    context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    axes(context, look);
    if (ellipses && ellipses.length === 3 * xs.length) {
      context.strokeStyle = `${look.soft}${xs.length > 500 ? "30" : "55"}`;
      context.lineWidth = 1;
      context.beginPath();
      for (let i = 0; i < xs.length; i += 1) around(context, xs[i], ys[i], ellipses[3 * i], ellipses[3 * i + 1], ellipses[3 * i + 2]);
      context.stroke();
    }
    const { latent, x, y, row } = store.get();
    if (row >= 0 && row < xs.length) ring(context, look.red, toX(xs[row]), toY(ys[row]), 8);
    if (ellipse && row >= 0) {
      context.strokeStyle = look.red;
      context.lineWidth = 1.5;
      context.setLineDash([4, 3]);
      context.beginPath();
      around(context, ...ellipse);
      context.stroke();
      context.setLineDash([]);
    }
    if (lasso && lasso.length > 1) {
      context.beginPath();
      lasso.forEach(([a, b], i) => (i ? context.lineTo(toX(a), toY(b)) : context.moveTo(toX(a), toY(b))));
      context.closePath();
      context.fillStyle = `${look.accent}22`;
      context.strokeStyle = look.accent;
      context.lineWidth = 1.5;
      context.fill();
      context.stroke();
    }
    if (latent && latent.length > x) cross(context, look, toX(latent[x]), y < latent.length ? toY(latent[y]) : size.height - 30);
  }

  // Where a row may as well lie, nine times of ten: an ellipse of its variances and their covariance.
  function around(context, x, y, xx, xy, yy) {
    const across = size.width / (view.x1 - view.x0);
    const up = size.height / (view.y1 - view.y0);
    const [a, b, d] = [xx * across * across, -xy * across * up, yy * up * up];
    const turn = Math.hypot((a - d) / 2, b);
    const angle = 0.5 * Math.atan2(2 * b, a - d);
    const [long, short] = [1, -1].map((sign) => Math.sqrt(Math.max(0, 4.605 * ((a + d) / 2 + sign * turn))));
    context.moveTo(toX(x) + long * Math.cos(angle), toY(y) + long * Math.sin(angle));
    context.ellipse(toX(x), toY(y), long, short, angle, 0, 2 * Math.PI);
  }

  function axes(context, look) {
    context.strokeStyle = look.line;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(toX(0), 0); context.lineTo(toX(0), size.height); context.moveTo(0, toY(0)); context.lineTo(size.width, toY(0));
    context.stroke();
    for (const v of ticks(view.x0, view.x1, Math.max(2, size.width / 110))) {
      if (toX(v) > 24 && toX(v) < size.width - 24) write(context, look, number(v), toX(v), size.height - 6, "center");
    }
    for (const v of ticks(view.y0, view.y1, Math.max(2, size.height / 80))) {
      if (toY(v) > 14 && toY(v) < size.height - 24) write(context, look, number(v), 6, toY(v) + 4);
    }
  }

  // ---------------------------------------------------------------- the point that is dragged
  const ask = latest(async (latent) => {
    const answer = await call("decode", { latent, nearest: 5 });
    decoded.show(answer.cells);
    drawn += 1;
    made.node.dataset.decoded = String(drawn);
    made.node.dataset.latent = answer.latent.map((v) => v.toPrecision(6)).join(" ");
    clear(aside.near, el("h3", { text: "Nearest rows" }), el("ul", { class: "chips" }, answer.nearest.map((n) =>
      el("li", {}, el("button", { type: "button", class: "chip", dir: "auto", text: n.name, title: `distance ${number(n.distance)}`,
        onclick: () => store.set({ row: n.row }) })))));
  });

  function current() {
    const q = page.state().model.q;
    const { latent } = store.get();
    return Array.from({ length: q }, (_, k) => (latent && latent[k]) || 0);
  }

  function moveTo(a, b) {
    const { x, y } = store.get();
    const latent = current();
    if (x < latent.length) latent[x] = a;
    if (y < latent.length) latent[y] = b;
    store.set({ latent, row: -1 });
  }

  function nearestRow(px, py, most) {
    let best = -1;
    let least = most * most;
    for (let i = 0; i < xs.length; i += 1) {
      const dx = toX(xs[i]) - px;
      const dy = toY(ys[i]) - py;
      const far = dx * dx + dy * dy;
      if (far < least) { least = far; best = i; }
    }
    return best;
  }

  function at(event) {
    const box = over.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  // The rows inside a lasso, of at most sixty corners.
  function close(corners) {
    const every = Math.ceil(corners.length / 60);
    keyed = null;
    store.set({ polygon: corners.filter((_, i) => i % every === 0), cluster: -1 });
  }

  let held = null;
  let keyed = null; // corners set by the keyboard
  over.addEventListener("pointerdown", (event) => {
    if (!xs.length) return;
    over.setPointerCapture(event.pointerId);
    const [px, py] = at(event);
    const tool = event.shiftKey ? "lasso" : event.button === 1 || event.altKey ? "pan" : store.get().tool;
    held = { tool, px, py, view: { ...view }, moved: false };
    if (tool === "lasso") lasso = [[fromX(px), fromY(py)]];
    event.preventDefault();
    over.focus({ preventScroll: true });
  });
  over.addEventListener("pointermove", (event) => {
    const [px, py] = at(event);
    if (!held) { hover(event, px, py); return; }
    if (Math.hypot(px - held.px, py - held.py) > 3) held.moved = true;
    if (!held.moved) return;
    tip.hide();
    if (held.tool === "pan") {
      const dx = ((px - held.px) / size.width) * (held.view.x1 - held.view.x0);
      const dy = ((py - held.py) / size.height) * (held.view.y1 - held.view.y0);
      look_at({ x0: held.view.x0 - dx, x1: held.view.x1 - dx, y0: held.view.y0 + dy, y1: held.view.y1 + dy });
    } else if (held.tool === "lasso") lasso.push([fromX(px), fromY(py)]);
    else moveTo(fromX(px), fromY(py));
    draw();
  });
  const release = (event) => {
    if (!held) return;
    const { tool, moved } = held;
    held = null;
    const [px, py] = at(event);
    if (tool === "lasso" && lasso.length > 2) close(lasso);
    else if (!moved && tool !== "pan") {
      lasso = null;
      const row = nearestRow(px, py, 12);
      if (row >= 0) store.set({ row });
      else { moveTo(fromX(px), fromY(py)); store.set({ polygon: null, cluster: -1 }); }
    }
    draw();
  };
  over.addEventListener("pointerup", release);
  over.addEventListener("pointercancel", () => { held = null; });
  over.addEventListener("pointerleave", () => tip.hide());
  over.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [px, py] = at(event);
    zoom(event.deltaY > 0 ? 1.18 : 1 / 1.18, px, py);
  }, { passive: false });
  over.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 0.1 : 0.02;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const latent = current();
    const { x, y } = store.get();
    if (moves) moveTo((latent[x] || 0) + moves[0] * step * (view.x1 - view.x0), (latent[y] || 0) + moves[1] * step * (view.y1 - view.y0));
    else if (event.key === "+" || event.key === "=") zoom(0.8);
    else if (event.key === "-") zoom(1.25);
    else if (event.key === "0") { home(); draw(); }
    else if (event.key === "Escape") { keyed = lasso = null; store.set({ polygon: null, cluster: -1, row: -1 }); draw(); }
    else if (event.key === " ") { keyed = [...(keyed || []), [latent[x] || 0, latent[y] || 0]]; lasso = keyed; draw(); }
    else if (event.key === "l" && keyed && keyed.length > 2) { close(keyed); draw(); }
    else if (event.key === "Enter") {
      const row = nearestRow(toX(latent[x] || 0), toY(latent[y] || 0), Infinity);
      if (row >= 0) store.set({ row });
    } else return;
    event.preventDefault();
  });

  function zoom(by, px = size.width / 2, py = size.height / 2) {
    const a = fromX(px);
    const b = fromY(py);
    look_at({ x0: a + (view.x0 - a) * by, x1: a + (view.x1 - a) * by, y0: b + (view.y0 - b) * by, y1: b + (view.y1 - b) * by });
  }

  const name = latest(async (row, x, y) => {
    const answer = await call("rows", { rows: [row], count: 1, columns: 4 });
    if (!answer.rows.length) return;
    const cells = answer.names.map((column, i) => `${column}: ${cellText(answer.rows[0].cells[i])}`).slice(0, 4);
    tip.show(x, y, `${answer.rows[0].name}\n${cells.join("\n")}`);
  });
  let last = -1;
  function hover(event, px, py) {
    if (xs.length > 200000) return;
    const row = nearestRow(px, py, 9);
    if (row === last) return;
    last = row;
    if (row < 0) tip.hide();
    else name(row, event.clientX, event.clientY);
  }

  const look = latest(async (text) => {
    if (!text.trim()) { clear(found); return; }
    const answer = await call("search", { text });
    clear(found, answer.rows.map((row) => el("option", { value: row.name })));
    const exact = answer.rows.find((row) => row.name === text);
    if (exact) store.set({ row: exact.row });
  });
  async function choose(text) {
    const answer = await call("search", { text });
    if (answer.rows.length) store.set({ row: answer.rows[0].row });
    else page.say("No row has that.");
  }

  // ---------------------------------------------------------------- selection
  const pick = latest(async () => {
    const { polygon, cluster, x, y } = store.get();
    lasso = polygon;
    if (!polygon && cluster < 0) {
      chosen = new Uint8Array(xs.length);
      clear(aside.apart);
      page.selection = null;
    } else {
      const answer = await call("select", polygon ? { axes: [x, y], polygon } : { cluster });
      chosen = new Uint8Array(xs.length);
      const rows = unpack(answer.rows);
      for (const row of rows) chosen[row] = 1;
      page.selection = rows;
      clear(aside.apart, el("h3", { text: `${many(answer.n, "row")} selected: what sets them apart` }), apartList(answer.apart),
        el("button", { type: "button", class: "quiet", text: "Clear the selection", onclick: () => store.set({ polygon: null, cluster: -1 }) }));
    }
    made.node.dataset.selected = String(page.selection ? page.selection.length : 0);
    page.selected();
    paint();
    draw();
  });

  const about = latest(async () => {
    const { row, x, y } = store.get();
    if (row < 0) { ellipse = null; draw(); return; }
    const answer = await call("row", { row });
    store.set({ latent: answer.latent });
    const q = answer.latent.length;
    const covariance = unpack(answer.covariance);
    ellipse = y < q && x < q ? [answer.latent[x], answer.latent[y], covariance[x * q + x], covariance[x * q + y], covariance[y * q + y]] : null;
    decoded.row(answer);
    draw();
  });

  store.on(["latent"], ({ latent }) => { draw(); setSliders(); if (latent) ask(latent); });
  store.on(["row"], about);
  store.on(["polygon", "cluster"], pick);
  store.on(["x", "y"], () => { refresh(); about(); });
  store.on(["colour", "ellipses"], () => refresh());
  store.on(["tool"], ({ tool }) => { over.dataset.tool = tool; });
  over.dataset.tool = store.get().tool;

  // ---------------------------------------------------------------- sliders of the other axes
  let built = "";
  function setSliders() {
    const { model } = page.state();
    if (!model) return;
    const { x, y } = store.get();
    const others = Array.from({ length: model.q }, (_, k) => k).filter((k) => k !== x && k !== y).slice(0, 12);
    const latent = current();
    const key = `${model.q} ${others.join(" ")}`;
    if (key !== built) {
      built = key;
      clear(aside.sliders, others.length ? el("h3", { text: "The other axes" }) : null, others.map((k) => {
        const [low, high] = model.ranges[k];
        const slider = el("input", { type: "range", min: low, max: high, step: (high - low) / 100 || 1, value: latent[k], "data-axis": k,
          "aria-label": `axis ${k + 1}`,
          oninput: () => { const z = current(); z[k] = Number(slider.value); store.set({ latent: z, row: -1 }); } });
        return labelled(`axis ${k + 1}`, slider);
      }));
    }
    aside.sliders.querySelectorAll("input").forEach((slider) => {
      if (document.activeElement !== slider) slider.value = latent[Number(slider.dataset.axis)];
    });
  }

  // ---------------------------------------------------------------- data
  const refresh = latest(async () => {
    const state = page.state();
    const { model } = state;
    if (!model) return;
    const last_ = model.q;
    let { x, y, colour: by } = store.get();
    if (x > last_) x = 0;
    if (y > last_) y = Math.min(1, last_);
    store.set({ x, y });
    const names = Array.from({ length: model.q }, (_, k) => [String(k),
      `axis ${k + 1}${model.explained[k] ? ` (${(100 * model.explained[k]).toFixed(0)} %)` : ""}`]);
    if (state.panels.includes("odd")) names.push([String(model.q), "off the model"]);
    xAxis.fill(names, String(x));
    yAxis.fill(names, String(y));
    const colours = [["none", "nothing"], ...(model.clusters > 1 ? [["cluster", "cluster"]] : []),
      ...(state.panels.includes("odd") ? [["oddness", "oddness"]] : []), ...state.columns.slice(0, 300).map((c) => [`column:${c}`, c.slice(0, 60)])];
    const start = state.label ? `column:${state.label}` : model.clusters > 1 ? "cluster" : "none";
    by = by || start;
    colourBy.fill(colours, by);
    const wide = state.rows > 5000;
    surely.disabled = wide;
    surely.setAttribute("aria-pressed", String(store.get().ellipses && !wide));
    const answer = await call("map", { axes: [x, y], colour: by, ellipses: store.get().ellipses && !wide });
    ellipses = answer.ellipses ? unpack(answer.ellipses) : null;
    const before = xs.length;
    const axesKey = `${x} ${y} ${model.kind} ${model.q}`;
    xs = unpack(answer.x);
    ys = unpack(answer.y);
    colour = answer.colour;
    if (colour.kind === "number") colour.values = unpack(colour.values);
    if (colour.kind === "category") colour.codes = unpack(colour.codes);
    if (!painter) painter = pointPainter(points, xs.length);
    painter.setPoints(xs, ys);
    const [x0, x1, y0, y1] = store.get().zoom || [];
    if (!before && x0 < x1 && y0 < y1) look_at({ x0, x1, y0, y1 }); // as the address has it
    else if (before !== xs.length || made.node.dataset.axes !== axesKey) home();
    made.node.dataset.axes = axesKey;
    made.node.dataset.painter = painter.kind;
    if (chosen.length !== xs.length) chosen = new Uint8Array(xs.length);
    paint();
    showLegend();
    draw();
    made.node.dataset.points = String(xs.length);
    made.words.textContent = mapWords(state);
    setSliders();
    if (!store.get().latent || store.get().latent.length !== model.q) store.set({ latent: current() }); // more axes or fewer: the others keep their place
    else ask(store.get().latent);
    if (store.get().polygon || store.get().cluster >= 0) pick();
    if (store.get().row >= 0) about();
  });

  function showLegend() {
    const look_ = theme(root);
    const dark = isDark(root);
    if (colour.kind === "category") {
      const own = marks();
      const rest = own < colour.labels.length && !colour.rest.includes("others") ? ["others", ...colour.rest] : colour.rest;
      clear(legend, [...colour.labels.slice(0, own), ...rest].map((label, i) => {
        const dot = el("i", { class: i >= 8 && i < own ? "ring" : "" });
        dot.style.color = i < own ? look_[`c${i % 8}`] : look_.soft;
        return el("span", { dir: "auto" }, dot, label.slice(0, 40));
      }));
    } else if (colour.kind === "number") {
      const bar = el("i", { class: "ramp" });
      bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map((t) => `rgb(${ramp(t, dark).join(",")})`).join(",")})`;
      clear(legend, el("span", { dir: "auto" }, number(colour.low), bar, number(colour.high), ` ${colour.name.slice(0, 40)}`));
    } else clear(legend);
  }

  fitCanvas(points, repaint);
  fitCanvas(over, (width, height, ratio) => { size = { width, height, ratio }; draw(); });
  page.themed(() => { paint(); showLegend(); draw(); });
  made.png = () => {
    const both = el("canvas", { width: over.width, height: over.height });
    const context = both.getContext("2d");
    context.fillStyle = theme(root).paper;
    context.fillRect(0, 0, both.width, both.height);
    painter.draw(view, size.ratio); // a picture of WebGL is there only until it is shown
    context.drawImage(points, 0, 0, both.width, both.height);
    context.drawImage(over, 0, 0);
    return new Promise((resolve) => both.toBlob(resolve, "image/png"));
  };
  made.points = () => ({ xs, ys, ...shown, toX, toY, size });
  made.update = refresh;
  return made;
}

function mapWords(state) {
  const { model } = state;
  const what = model.kind === "kernel" ? `a kernel model with ${many(model.q, "axis").replace("axiss", "axes")}` : `a linear model with ${model.q} ${model.q === 1 ? "axis" : "axes"}`;
  const told = model.explained.length ? `, which hold ${(100 * model.explained.reduce((a, b) => a + b, 0)).toFixed(0)} % of the variance` : "";
  return `${many(state.rows, "row")} on ${what}${told}. ${model.words} Drag the cross: the row beside follows. Click a row, or draw a lasso.`;
}

function toolButtons(store) {
  const group = el("div", { class: "group", role: "radiogroup", "aria-label": "What dragging does" });
  const kinds = [["point", "Point", "Drag the point of the map"], ["lasso", "Lasso", "Draw around rows (or hold Shift)"], ["pan", "Pan", "Move the map (or hold Alt)"]];
  const buttons = kinds.map(([kind, text, title]) => el("button", { type: "button", role: "radio", text, title, "data-tool": kind, onclick: () => store.set({ tool: kind }) }));
  const show = () => buttons.forEach((button) => button.setAttribute("aria-checked", String(button.dataset.tool === store.get().tool)));
  store.on(["tool"], show);
  show();
  group.append(...buttons);
  return group;
}

function cellText(cell) {
  if (cell === null) return "";
  return typeof cell === "object" ? `≈ ${number(cell.v)}` : number(cell);
}

function ring(context, colour, x, y, radius) {
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.stroke();
}

function cross(context, look, x, y) {
  context.lineWidth = 4;
  context.strokeStyle = look.paper;
  for (let pass = 0; pass < 2; pass += 1) {
    context.beginPath();
    context.moveTo(x - 11, y); context.lineTo(x - 4, y); context.moveTo(x + 4, y); context.lineTo(x + 11, y);
    context.moveTo(x, y - 11); context.lineTo(x, y - 4); context.moveTo(x, y + 4); context.lineTo(x, y + 11);
    context.stroke();
    context.lineWidth = 2;
    context.strokeStyle = look.ink;
  }
}

// The row that the point stands for: a picture, or its columns with intervals.
function decodedRow(page) {
  const heading = el("h3", { text: "The row at the point" });
  const list = el("dl", { class: "cells" });
  const node = el("div", { class: "decoded" }, heading, list);
  let lines = null;
  let image = null;
  let named = { row: -1 };
  let names = "";
  function build(count) {
    const state = page.state();
    const key = `${state.modelled.length} ${state.modelled.slice(0, 300).join("|")}`;
    if (key === names) return;
    names = key;
    lines = null;
    image = null;
    clear(list);
    if (state.image) {
      image = picture(state.image, 176);
      list.before(image);
      return;
    }
    const shown = Math.min(count, SHOWN_COLUMNS);
    lines = Array.from({ length: shown }, () => {
      const name = el("dt", { dir: "auto" });
      const bar = track();
      const text = el("b", { dir: "auto" });
      list.append(name, el("dd", {}, bar, text));
      return { name, bar, text };
    });
    if (count > shown) node.append(el("p", { class: "words", text: `The ${shown} columns that are farthest from usual, of ${count}.` }));
  }
  function show(cells, seen) {
    build(cells.length);
    const ranges = page.ranges();
    if (image) {
      const low = Math.min(...ranges.map((r) => (r ? r[0] : 0)));
      const high = Math.max(...ranges.map((r) => (r ? r[1] : 1)));
      image.set(cells.map((cell) => cell[0]), low, high);
      image.dataset.sum = cells.reduce((sum, cell) => sum + cell[0], 0).toFixed(3);
      return;
    }
    let order = cells.map((_, j) => j);
    if (cells.length > lines.length) {
      const off = (j) => (ranges[j] && typeof cells[j][0] === "number" ? Math.abs(cells[j][0] - ranges[j][2]) / (ranges[j][1] - ranges[j][0] || 1) : 0);
      order = order.sort((a, b) => off(b) - off(a)).slice(0, lines.length).sort((a, b) => a - b);
    }
    lines.forEach((line, i) => {
      const j = order[i];
      const cell = cells[j];
      const name = page.state().modelled[j];
      if (line.name.textContent !== name) { line.name.textContent = name; line.name.title = name; }
      if (cell.length === 2) {
        line.text.textContent = String(cell[0]);
        line.bar.set(cell[1], 0, cell[1], 0, 1);
        line.text.title = `with chance ${number(cell[1])}`;
      } else {
        const range = ranges[j] || [cell[1], cell[2]];
        line.text.textContent = number(cell[0]);
        line.text.title = `90 %: ${number(cell[1])} to ${number(cell[2])}`;
        line.bar.set(cell[0], cell[1], cell[2], range[0], range[1], seen ? seen[j] : null);
      }
    });
  }
  return {
    node,
    show(cells) {
      const { row } = page.store.get();
      heading.textContent = row >= 0 ? `The model's view of ${named.row === row ? named.name : `row ${row + 1}`}` : "The row at the point";
      show(cells, row >= 0 ? page.rowCells : null);
    },
    row(answer) {
      page.rowCells = answer.cells.map((cell, j) => (answer.holes.includes(j) ? null : cell[0]));
      named = answer;
      heading.textContent = `The model's view of ${answer.name}`;
    },
  };
}

export function apartList(apart) {
  if (!apart.length) return el("p", { class: "words", text: "Nothing to compare." });
  const most = Math.max(...apart.map((a) => Math.abs(a.effect))) || 1;
  return el("ol", { class: "effects" }, apart.map((a) => {
    const bar = el("i", { class: a.effect > 0 ? "up" : "down" });
    bar.style.width = `${(100 * Math.abs(a.effect)) / most}%`;
    const share = a.value !== undefined;
    const text = (v) => (share ? `${(100 * v).toFixed(0)} %` : number(v));
    return el("li", {}, el("span", { class: "name", dir: "auto", text: share ? `${a.column}: ${a.value}` : a.column }),
      el("span", { class: "bar" }, bar), el("span", { class: "numbers", text: `${text(a.inside)} against ${text(a.outside)}` }));
  }));
}
