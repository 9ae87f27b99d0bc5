// Columns: what each is, how its values lie, what is missing. Here views are named too.
import { clear, el, latest, many, number, panel, percent, svg } from "./kit.js";

export function columnsPanel(page) {
  const { call, store } = page;
  const text = el("input", { type: "text", placeholder: "views: a=1-5, b=6-9", "aria-label": "Name views by columns, as in a=1-5, b=6-9" });
  const form = el("form", { class: "inline", onsubmit: (event) => { event.preventDefault(); name(); } }, text, el("button", { type: "submit", text: "Make views" }));
  const made = panel("columns", "Columns", form);
  async function name() {
    try {
      await call("choose", { views: viewsOf(text.value, page.state().columns) });
      await page.poll();
    } catch (error) { page.say(error.message); }
  }
  let shown = 12;
  const code = (column, value, count, words, button, label, change) => el("p", { class: "words code" },
    `${number(value)} stands ${count === 1 ? "once" : `${count.toLocaleString("en")} times`}, far from all other values: ${words}`,
    column.role === "modelled" ? el("button", { type: "button", class: "quiet", text: button, "aria-label": `${label} in ${column.name.slice(0, 80)}`, onclick: () => page.act("replace", { column: column.name, ...change }) }) : null);
  const refresh = latest(async () => {
    const answer = await call("columns", { count: Math.min(200, shown) });
    const rows = page.state().rows;
    made.words.textContent = `${many(answer.total, "column")}. Click one to colour the map by it.`;
    clear(made.body, el("div", { class: "cards" }, answer.columns.map((column) => el("article", { class: `card ${column.role === "left out" ? "out" : ""}` },
      el("h3", { dir: "auto" }, el("button", { type: "button", class: "link", text: column.name.slice(0, 80), title: column.name, onclick: () => store.set({ colour: `column:${column.name}` }) })),
      el("p", { class: "words", text: [column.kind, column.role === "modelled" ? "" : column.role, column.holes ? `${percent(column.holes / rows)} holes` : "no holes", `${many(column.distinct, "value")}`].filter(Boolean).join(" · ") }),
      column.counts ? histogram(column) : valueList(column, rows),
      ...column.emptied.map(([value, count]) => code(column, value, count, "taken as missing. ", "Keep it", `Keep ${number(value)}`, { new: value })),
      ...column.codes.map(([value, count]) => code(column, value, count, "a code of missing? ", "Take as missing", `Take ${number(value)} as missing`, { old: value })),
      column.why ? el("p", { class: "words", text: column.why }) : null))),
    answer.total > shown && shown < 200 ? el("button", { type: "button", class: "more", text: `Show more of ${answer.total}`, onclick: () => { shown = Math.min(200, shown + 48); refresh(); } }) : el("span"));
  });
  made.update = refresh;
  return made;
}

function histogram(column) {
  const most = Math.max(...column.counts) || 1;
  const width = 220;
  const step = width / column.counts.length;
  const drawn = svg("svg", { viewBox: `0 0 ${width} 64`, class: "plot mini", role: "img", "aria-label": `from ${number(column.quartiles[0])} to ${number(column.quartiles[4])}, half between ${number(column.quartiles[1])} and ${number(column.quartiles[3])}` },
    column.counts.map((count, i) => svg("rect", { class: "bar", x: i * step + 0.5, width: step - 1, y: 46 - (44 * count) / most, height: (44 * count) / most })),
    svg("text", { class: "soft", x: 0, y: 60 }, number(column.edges[0])), svg("text", { class: "soft", x: width, y: 60, "text-anchor": "end" }, number(column.edges[1])));
  return drawn;
}

function valueList(column, rows) {
  if (column.values.every(([, count]) => count === 1)) return el("p", { dir: "auto", text: `${column.values.slice(0, 5).map(([value]) => value).join(", ")}${column.distinct > 5 ? ", …" : ""}` });
  return el("ul", { class: "values" }, column.values.slice(0, 5).map(([value, count]) => {
    const bar = el("i", {});
    bar.style.width = `${(100 * count) / rows}%`;
    return el("li", {}, el("span", { class: "name", dir: "auto", text: value }), el("span", { class: "bar" }, bar), el("span", { class: "numbers", text: count.toLocaleString("en") }));
  }));
}

// "a=1-5, b=6-9" as lists of a name and columns; columns are named by place or by name.
function viewsOf(text, columns) {
  const views = [];
  for (const piece of text.split(",")) {
    const [left, right] = piece.includes("=") ? piece.split(/=(.*)/s) : [null, piece];
    if (left !== null) views.push([left.trim()]);
    if (!views.length) throw new Error("Views are named as in a=1-5, b=6-9.");
    const token = (right || "").trim();
    const range = /^(\d+)(?:-(\d+))?$/.exec(token);
    if (range) views[views.length - 1].push(...columns.slice(Number(range[1]) - 1, Number(range[2] || range[1])));
    else if (token) views[views.length - 1].push(token);
  }
  return views;
}
