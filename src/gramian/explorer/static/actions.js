// The head of the page: what it is about, the model, progress, files in and out.
import { clear, el, labelled, many, number, save, select, svg } from "./kit.js";
import { standalone } from "./plot.js";

const KERNELS = [["linear", "linear"], ["rbf", "RBF kernel"], ["laplacian", "Laplacian kernel"], ["matern", "Matérn kernel"],
  ["polynomial", "polynomial kernel"], ["cosine", "cosine kernel"], ["rational_quadratic", "rational quadratic kernel"]];
const FILES = [["filled", "Filled table (CSV)"], ["scores", "Scores of rows (CSV)"], ["model", "Model file"], ["report", "Report (HTML)"], ["code", "Python code"]];

export function headOf(page, home) {
  const { call, root } = page;
  const title = el("h1", { dir: "auto" });
  const facts = el("p", { class: "lead" });
  const kernel = select(KERNELS, "linear", (value) => act("choose", { kernel: value }));
  const tune = el("button", { type: "button", text: "Tune", title: "Search the parameters of the model", onclick: () => act("tune", { trials: 20 }) });
  const undo = el("button", { type: "button", text: "Undo", disabled: true, onclick: () => act("undo", {}) });
  const menu = exportMenu();
  const dark = el("button", { type: "button", text: "◐", "aria-label": "Light or dark", onclick: () => page.setTheme() });
  const file = el("input", { type: "file", hidden: true, onchange: () => file.files[0] && send(file.files[0]) });
  const open = home.upload ? el("button", { type: "button", text: "Open a file", onclick: () => file.click() }) : null;
  const bar = el("progress", { max: 1, "aria-label": "Progress" });
  const step = el("span", {});
  const progress = el("div", { class: "progress", hidden: true, role: "status" }, bar, step,
    el("button", { type: "button", text: "Cancel", onclick: () => act("cancel", {}) }));
  const message = el("div", { class: "message", role: "alert", hidden: true });
  const nav = el("nav", { "aria-label": "Panels" });
  const node = el("header", { class: "head" }, el("div", { class: "top" }, el("div", { class: "name" }, title, facts),
    el("div", { class: "tools" }, labelled("model", kernel), tune, undo, open, file, menu, dark)), nav, progress, message);

  page.act = act;
  async function act(verb, input) {
    try {
      const answer = await call(verb, input);
      if (verb === "undo") page.say(answer.undone ? `Undone: ${answer.undone}.` : "There is nothing to undo.");
      if (verb === "cancel" && answer.cancelled) page.say(`Cancelled: ${answer.cancelled}.`);
    } catch (error) { page.say(error.message); }
    await page.poll();
  }

  async function send(given) {
    page.say(`Sending ${given.name}…`);
    try {
      const answer = await home.upload(given, (share) => page.say(`Sending ${given.name}: ${Math.round(100 * share)} %`));
      home.open(answer.token);
    } catch (error) { page.say(error.message); }
    file.value = "";
  }

  if (home.upload) {
    root.addEventListener("dragover", (event) => { event.preventDefault(); root.classList.add("dropping"); });
    root.addEventListener("dragleave", (event) => { if (!event.relatedTarget) root.classList.remove("dropping"); });
    root.addEventListener("drop", (event) => {
      event.preventDefault();
      root.classList.remove("dropping");
      if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0]);
    });
  }

  function exportMenu() {
    const list = el("div", { class: "menu" });
    const details = el("details", { class: "export" }, el("summary", { text: "Export" }), list);
    const entry = (text, what, work) => el("button", { type: "button", text, "data-export": what, onclick: async () => {
      details.open = false;
      try { await work(); } catch (error) { page.say(error.message); }
    } });
    list.append(...FILES.map(([what, text]) => entry(text, what, async () => {
      if (what === "report") page.say("The report is being written.");
      const answer = await call("export", { what });
      const bytes = Uint8Array.from(atob(answer.data), (c) => c.charCodeAt(0));
      save(answer.name, answer.type, bytes);
      page.say(`${answer.name} is written.`);
    })), entry("Map as PNG", "png", async () => save("map.png", "image/png", await page.panels.map.png())),
    entry("Map as SVG", "svg", async () => save("map.svg", "image/svg+xml", mapSvg(page))));
    details.addEventListener("keydown", (event) => { if (event.key === "Escape") { details.open = false; details.querySelector("summary").focus(); } });
    document.addEventListener("click", (event) => { if (!details.contains(event.target)) details.open = false; });
    return details;
  }

  let hide = 0;
  return {
    node,
    say(text, stays) {
      clearTimeout(hide);
      message.textContent = text;
      message.hidden = !text;
      if (!stays) hide = setTimeout(() => { message.hidden = true; }, 7000);
    },
    update(state) {
      title.textContent = state.title;
      const parts = [];
      if (state.rows) parts.push(`${many(state.rows, "row")}, ${many(state.columns.length, "column")}`);
      if (state.rows) parts.push(state.holes ? `${many(state.holes, "hole")}, filled` : "no holes");
      if (state.emptied?.length) parts.push(`${state.emptied.map(number).join(", ")} taken as missing`);
      if (state.model && state.model.kernel) parts.push(state.model.kernel);
      facts.textContent = parts.join(" · ");
      tune.disabled = kernel.disabled = !state.model;
      menu.hidden = !state.model;
      undo.disabled = !state.undo;
      undo.title = state.undo ? `Undo ${state.undo}` : "Nothing to undo";
      const word = state.model && state.model.kind === "kernel" ? kernelWord(state.model.kernel) : "linear";
      if (document.activeElement !== kernel && !state.jobs.some((job) => job.key === "fit")) kernel.value = word;
      const job = state.jobs[0];
      progress.hidden = !job;
      if (job) {
        if (job.total) { bar.max = job.total; bar.value = job.done; } else bar.removeAttribute("value");
        const more = state.jobs.length > 1 ? `, then ${state.jobs.slice(1).map((j) => j.title.toLowerCase()).join(", ")}` : "";
        step.textContent = `${job.title}${job.total ? ` (${job.done} of ${job.total})` : ""}${more}`;
      }
      const names = state.panels.map((name) => page.panels[name]).filter(Boolean);
      if (nav.childElementCount !== names.length) {
        clear(nav, names.map((made) => el("a", { href: `#panel-${made.node.dataset.panel}`, text: made.node.getAttribute("aria-label"), onclick: (event) => {
          event.preventDefault();
          made.node.scrollIntoView({ behavior: "smooth" });
          made.node.querySelector("h2").tabIndex = -1;
          made.node.querySelector("h2").focus({ preventScroll: true });
        } })));
      }
    },
  };
}

function kernelWord(text) {
  const name = String(text || "").toLowerCase().split("(")[0];
  const found = KERNELS.find(([key]) => key.replace("_", "") === name);
  return found ? found[0] : "rbf";
}

function mapSvg(page) {
  const { xs, ys, colours, rings, toX, toY, size } = page.panels.map.points();
  if (xs.length > 50000) throw new Error("More than 50,000 points: save a PNG instead.");
  const shade = (i) => `rgb(${colours[4 * i]}, ${colours[4 * i + 1]}, ${colours[4 * i + 2]})`;
  const drawn = svg("svg", { viewBox: `0 0 ${size.width} ${size.height}`, width: size.width, height: size.height });
  for (let i = 0; i < xs.length; i += 1) drawn.append(svg("circle", { cx: toX(xs[i]).toFixed(1), cy: toY(ys[i]).toFixed(1), r: 3, "fill-opacity": 0.8, ...(rings && rings[i] ? { fill: "none", stroke: shade(i), "stroke-width": 1.5 } : { fill: shade(i) }) }));
  page.root.append(drawn);
  const text = standalone(drawn, page.root);
  drawn.remove();
  return text;
}
