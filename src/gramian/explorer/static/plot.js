// Drawings with axes, as SVG: curves, bands, marks. They can be saved as they are.
import { number, svg, ticks } from "./kit.js";

export function frame(width, height, x, y, options = {}) {
  const left = options.left ?? 46;
  const bottom = options.bottom ?? 26;
  const top = options.top ?? 10;
  const right = options.right ?? 12;
  const px = (v) => left + ((v - x[0]) / (x[1] - x[0] || 1)) * (width - left - right);
  const py = (v) => height - bottom - ((v - y[0]) / (y[1] - y[0] || 1)) * (height - bottom - top);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", role: options.role || "img", "aria-label": options.label || "" });
  for (const v of ticks(y[0], y[1], Math.max(2, Math.floor(height / 55)))) {
    root.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: py(v), y2: py(v) }),
      svg("text", { class: "soft", x: left - 6, y: py(v) + 4, "text-anchor": "end" }, number(v)));
  }
  const across = options.xticks || ticks(x[0], x[1], Math.max(2, Math.floor(width / 90))).map((v) => [v, number(v)]);
  for (const [v, text] of across) {
    root.append(svg("text", { class: "soft", x: px(v), y: height - 8, "text-anchor": "middle" }, text));
  }
  root.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
  return { root, px, py };
}

export function path(points) {
  let text = "";
  let pen = "M";
  for (const [x, y] of points) {
    if (!Number.isFinite(y)) { pen = "M"; continue; }
    text += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = "L";
  }
  return text;
}

export function area(upper, lower) {
  return `${path(upper)}${path([...lower].reverse()).replace("M", "L")}Z`;
}

// An SVG that stands alone: the rules of the page are written into it.
export function standalone(node, root) {
  const copy = node.cloneNode(true);
  const from = node.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((made, i) => {
    const style = getComputedStyle(from[i]);
    for (const name of ["fill", "stroke", "stroke-width", "fill-opacity", "stroke-dasharray", "font-size", "font-family"]) {
      made.setAttribute(name, style.getPropertyValue(name));
    }
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const paper = getComputedStyle(root).getPropertyValue("--paper").trim();
  copy.prepend(svg("rect", { width: "100%", height: "100%", fill: paper }));
  return new XMLSerializer().serializeToString(copy);
}
