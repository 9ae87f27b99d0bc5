// Small things that every panel uses: elements, numbers, arrays, colours, canvases.

// Text is always text: nothing here reads HTML.
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  put(node, attributes);
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}

export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  put(node, attributes);
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}

function put(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
}

export function clear(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e7 || size < 1e-4) return value.toExponential(2).replace("e+", "e");
  const text = size >= 1000 ? value.toFixed(size >= 1e5 ? 0 : 1) : value.toPrecision(4);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export const many = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

const ARRAYS = { f4: Float32Array, i4: Int32Array, u1: Uint8Array };
export function unpack(value) {
  const text = atob(value.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return new ARRAYS[value.kind](bytes.buffer);
}

// Latest wins: while one call is under way only the last of those that come is kept. No queue grows.
export function latest(work) {
  let busy = false;
  let next = null;
  return async function run(...given) {
    if (busy) { next = given; return; }
    busy = true;
    let now = given;
    while (now) {
      next = null;
      try { await work(...now); } catch (error) { if (!error.lost && !error.wait) console.warn(error.message); }
      now = next;
    }
    busy = false;
  };
}

export function later(work, wait) {
  let timer = 0;
  return (...given) => { clearTimeout(timer); timer = setTimeout(() => work(...given), wait); };
}

// ------------------------------------------------------------------ colours

export function theme(root) {
  const style = getComputedStyle(root);
  const names = ["ink", "soft", "line", "back", "paper", "accent", "blue", "red", "hole", "seen",
    "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim() || "#888888"]));
}

export function rgb(colour) {
  const hex = colour.replace("#", "");
  const full = hex.length === 3 ? [...hex].map((c) => c + c).join("") : hex;
  return [0, 2, 4].map((i) => parseInt(full.slice(i, i + 2), 16) || 0);
}

// Cividis in seven stops: told apart in print and with any eyes. On dark paper its dark end is lifted.
const SCALE = ["#00224e", "#2a3f6d", "#575d6d", "#7d7c78", "#a59c74", "#d2c060", "#fee838"].map(rgb);
export function ramp(t, dark) {
  const at = Math.min(1, Math.max(0, dark ? 0.25 + 0.75 * t : t)) * (SCALE.length - 1);
  const low = Math.min(SCALE.length - 2, Math.floor(at));
  return SCALE[low].map((v, i) => Math.round(v + (SCALE[low + 1][i] - v) * (at - low)));
}

export function isDark(root) {
  const [r, g, b] = rgb(theme(root).paper);
  return r + g + b < 300;
}

// ------------------------------------------------------------------ canvases and axes

export function fitCanvas(canvas, changed) {
  const fit = () => {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const { clientWidth: width, clientHeight: height } = canvas;
    if (!width || !height) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    changed(width, height, ratio);
  };
  const observer = new ResizeObserver(fit);
  observer.observe(canvas);
  fit();
  return () => observer.disconnect();
}

export function ticks(low, high, count) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const raw = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const found = []; // one alone tells no scale
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) found.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return found.length < 2 && count < 16 ? ticks(low, high, 2 * count) : found;
}

// Words on a drawing: a rim in the colour of the ground keeps them apart from points and lines.
export function write(context, look, text, x, y, align = "left") {
  context.save();
  context.font = "12px system-ui, sans-serif";
  context.textAlign = align;
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = look.back;
  context.strokeText(text, x, y);
  context.fillStyle = look.soft;
  context.fillText(text, x, y);
  context.restore();
}

export function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
  return low <= high ? [low, high] : [0, 1];
}

// ------------------------------------------------------------------ what a thing is called, beside the pointer

export function tipFor(root) {
  const tip = el("div", { class: "tip", role: "status", hidden: true });
  root.append(tip);
  return {
    show(x, y, text) {
      tip.textContent = text;
      tip.hidden = false;
      const left = x + 14 + tip.offsetWidth > innerWidth - 8 ? Math.max(8, x - 14 - tip.offsetWidth) : x + 14;
      const top = y + 14 + tip.offsetHeight > innerHeight - 8 ? y - 14 - tip.offsetHeight : y + 14;
      tip.style.left = `${left}px`;
      tip.style.top = `${top}px`;
    },
    hide() { tip.hidden = true; },
  };
}

// A column of numbers as a bar: the range of the table, an interval, a mark for the value.
export function track() {
  const band = el("i", { class: "band" });
  const mark = el("i", { class: "mark" });
  const seen = el("i", { class: "was", hidden: true });
  const node = el("span", { class: "track", "aria-hidden": "true" }, band, seen, mark);
  const place = (value, low, high) => `${Math.min(100, Math.max(0, (100 * (value - low)) / (high - low || 1)))}%`;
  node.set = (value, from, to, low, high, was) => {
    mark.style.left = place(value, low, high);
    band.style.left = place(from, low, high);
    band.style.right = `calc(100% - ${place(to, low, high)})`;
    seen.hidden = was === undefined || was === null || typeof was !== "number";
    if (!seen.hidden) seen.style.left = place(was, low, high);
  };
  return node;
}

export function picture(shape, size) {
  const [height, width] = shape;
  const canvas = el("canvas", { class: "picture", width, height, role: "img", "aria-label": "the row as a picture" });
  if (size) canvas.style.width = `${size}px`;
  canvas.set = (values, low, high) => {
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    values.forEach((value, i) => {
      const level = Math.round(255 * (1 - Math.min(1, Math.max(0, (value - low) / (high - low || 1)))));
      image.data.set([level, level, level, 255], 4 * i);
    });
    context.putImageData(image, 0, 0);
  };
  return canvas;
}

export function panel(name, heading, ...tools) {
  const words = el("p", { class: "words" });
  const body = el("div", { class: "body" });
  const node = el("section", { class: "panel", "data-panel": name, id: `panel-${name}`, "aria-label": heading },
    el("header", {}, el("h2", { text: heading }), el("div", { class: "tools" }, ...tools)), words, body);
  return { node, body, words };
}

export function labelled(text, control) {
  if (["SELECT", "INPUT"].includes(control.tagName) && !control.hasAttribute("aria-label")) control.setAttribute("aria-label", text);
  return el("label", { class: "field" }, el("span", { text }), control);
}

export function select(options, value, changed) {
  const node = el("select", { onchange: () => changed(node.value) });
  node.fill = (list, chosen) => {
    clear(node, list.map(([key, text]) => el("option", { value: key, text })));
    node.value = chosen;
    if (node.value !== chosen && list.length) node.value = list[0][0];
  };
  node.fill(options, value);
  return node;
}

export function save(name, type, data) {
  const blob = data instanceof Blob ? data : new Blob([data], { type });
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
