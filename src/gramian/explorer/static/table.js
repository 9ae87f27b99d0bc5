// The table: holes filled in place, cells to edit, rows to sort and filter.
import { clear, el, later, latest, many, number, panel } from "./kit.js";

const PAGE_ROWS = 15;

export function tablePanel(page) {
  const { store, call, tip } = page;
  const filter = el("input", { type: "search", placeholder: "filter", "aria-label": "Filter rows", value: store.get().filter,
    oninput: later(() => store.set({ filter: filter.value, page: 0 }), 200) });
  const only = el("select", { "aria-label": "Which rows", onchange: () => store.set({ only: only.value, page: 0 }) },
    [["", "all rows"], ["holes", "rows with holes"], ["selected", "selected rows"]].map(([value, text]) => el("option", { value, text })));
  only.value = store.get().only;
  const made = panel("table", "Table", filter, only);
  const grid = el("table", { class: "grid" });
  const scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows of the table" }, grid);
  const place = el("span", { class: "place" });
  const pager = el("div", { class: "pager" },
    el("button", { type: "button", text: "‹", "aria-label": "Rows before", onclick: () => store.set({ page: Math.max(0, store.get().page - 1) }) }),
    place,
    el("button", { type: "button", text: "›", "aria-label": "Rows after", onclick: () => store.set({ page: store.get().page + 1 }) }),
    el("button", { type: "button", class: "columns-before", text: "‹ columns", onclick: () => { first = Math.max(0, first - 20); refresh(); } }),
    el("button", { type: "button", class: "columns-after", text: "columns ›", onclick: () => { first += 20; refresh(); } }));
  made.body.append(scroll, pager);
  made.words.textContent = "Filled cells are in colour: point at one for its interval. Double-click a cell to change or empty it; Enter does the same.";
  let first = 0;

  const refresh = latest(async () => {
    const { sort, down, filter: text, only: which, page: at } = store.get();
    if (!page.state().columns) return;
    const asked = { start: at * PAGE_ROWS, count: PAGE_ROWS, sort, descending: down, filter: text, first_column: first, columns: 20 };
    if (which === "holes") asked.only = "holes";
    if (which === "selected") asked.rows = page.selection ? Array.from(page.selection) : [];
    const answer = await call("rows", asked);
    const last = Math.max(0, Math.ceil(answer.total / PAGE_ROWS) - 1);
    if (at > last) { store.set({ page: last }); return; }
    place.textContent = answer.total ? `${at * PAGE_ROWS + 1} to ${Math.min(answer.total, (at + 1) * PAGE_ROWS)} of ${many(answer.total, "row")}` : "no rows";
    pager.classList.toggle("wide", answer.all_columns > 20);
    if (first >= answer.all_columns) first = 0;
    const headings = answer.names.map((name, j) => {
      const sorted = sort === `column:${name}`;
      return el("th", { scope: "col", class: answer.kinds[j] === "number" ? "n" : "", "aria-sort": sorted ? (down ? "descending" : "ascending") : null },
        el("button", { type: "button", class: "sort", dir: "auto", text: name.length > 40 ? `${name.slice(0, 39)}…` : name, title: name,
          onclick: () => store.set({ sort: `column:${name}`, down: sorted && !down, page: 0 }) }));
    });
    const oddest = page.state().panels.includes("odd")
      ? el("button", { type: "button", class: "sort", text: "row", title: "Sort by oddness, or as in the file", onclick: () => store.set(sort === "oddness" ? { sort: "", down: false } : { sort: "oddness", down: true, page: 0 }) })
      : "row";
    const rows = answer.rows.map((row) => el("tr", { "data-row": row.row, class: row.row === store.get().row ? "current" : "" },
      el("th", { scope: "row" }, el("button", { type: "button", class: "link", dir: "auto", text: row.name, onclick: () => store.set({ row: row.row }) })),
      row.cells.map((cell, j) => cellOf(row, cell, answer, j))));
    const focus = document.activeElement && scroll.contains(document.activeElement) ? document.activeElement.dataset.place : null;
    clear(grid, el("thead", {}, el("tr", {}, el("th", { scope: "col", "aria-sort": sort === "oddness" ? "descending" : null }, oddest), headings)), el("tbody", {}, rows));
    if (focus) grid.querySelector(`[data-place="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
    made.node.dataset.rows = String(answer.total);
  });

  function cellOf(row, cell, answer, j) {
    const name = answer.names[j];
    const hole = cell !== null && typeof cell === "object";
    const kind = [hole ? "filled" : "", cell === null ? "empty" : "", row.edited.includes(name) ? "edited" : "", answer.kinds[j] === "number" ? "n" : ""];
    const node = el("td", { class: kind.filter(Boolean).join(" "), dir: "auto", text: hole ? number(cell.v) : number(cell),
      "data-place": `${row.row} ${name}`, tabindex: answer.modelled[j] ? "0" : null });
    if (hole) {
      const words = cell.p !== undefined ? `filled: ${cell.v}, with chance ${number(cell.p)}` : `filled: ${number(cell.v)}; 90 % of such cells lie between ${number(cell.lo)} and ${number(cell.hi)}`;
      node.setAttribute("aria-label", words);
      node.addEventListener("pointermove", (event) => tip.show(event.clientX, event.clientY, words));
      node.addEventListener("pointerleave", () => tip.hide());
      node.addEventListener("focus", () => { const box = node.getBoundingClientRect(); tip.show(box.left, box.bottom - 10, words); });
      node.addEventListener("blur", () => tip.hide());
    }
    if (answer.modelled[j]) {
      const start = () => edit(node, row.row, name, hole ? "" : cell === null ? "" : String(cell));
      node.addEventListener("dblclick", start);
      node.addEventListener("keydown", (event) => {
        if (event.target !== node) return;
        if (event.key === "Enter" || event.key === "F2") { event.preventDefault(); start(); }
        if (event.key === "Delete" || event.key === "Backspace") { event.preventDefault(); change(row.row, name, null); }
        step(event, node);
      });
    }
    return node;
  }

  function step(event, node) {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!by) return;
    const line = node.parentNode;
    const next = [...line.parentNode.children][[...line.parentNode.children].indexOf(line) + by[0]];
    const cell = next && next.children[[...line.children].indexOf(node) + by[1]];
    if (cell) { event.preventDefault(); cell.focus(); }
  }

  function edit(node, row, column, value) {
    const box = el("input", { class: "cell", value, "aria-label": `${column}, row ${row + 1}` });
    let over = false;
    const end = (keep) => {
      if (over) return;
      over = true;
      if (keep && box.value !== value) change(row, column, box.value.trim() === "" ? null : box.value);
      else refresh();
    };
    box.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") end(true);
      if (event.key === "Escape") end(false);
    });
    box.addEventListener("blur", () => end(true));
    clear(node, box);
    box.focus();
    box.select();
  }

  async function change(row, column, value) {
    try {
      await call("edit", { row, column, value });
      store.set({ row });
    } catch (error) { page.say(error.message); }
    await page.poll();
    refresh();
  }

  store.on(["sort", "down", "filter", "only", "page"], refresh);
  store.on(["row"], ({ row }) => grid.querySelectorAll("tbody tr").forEach((line) => line.classList.toggle("current", Number(line.dataset.row) === row)));
  page.onSelection(() => { if (store.get().only === "selected") { store.set({ page: 0 }); refresh(); } });
  made.update = refresh;
  return made;
}
