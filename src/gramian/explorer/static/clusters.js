// Clusters: how large each is, and what sets it apart.
import { clear, el, latest, many, panel, percent, theme } from "./kit.js";
import { apartList } from "./map.js";

export function clustersPanel(page) {
  const { store, call, root } = page;
  const made = panel("clusters", "Clusters");
  const refresh = latest(async () => {
    if (!page.state().model) return;
    const answer = await call("clusters");
    if (!answer.clusters.length) { made.words.textContent = answer.working ? "Clusters are being looked for." : "No clusters were looked for."; return; }
    made.words.textContent = answer.count === 1 ? "Held-out rows prefer one cluster: the table does not fall apart." : `${answer.count} clusters, the largest first. Click one to select its rows.`;
    const look = theme(root);
    clear(made.body, el("ul", { class: "cluster-list" }, answer.clusters.map((cluster) => {
      const dot = el("i", { class: "swatch" });
      dot.style.color = cluster.cluster < 8 ? look[`c${cluster.cluster}`] : look.soft;
      return el("li", {}, el("button", { type: "button", class: "link", onclick: () => store.set({ cluster: cluster.cluster, polygon: null, colour: "cluster" }) },
        dot, `cluster ${cluster.cluster + 1}`), el("span", { class: "numbers", text: `${many(cluster.rows, "row")}, ${percent(cluster.share)}` }),
      answer.count > 1 ? apartList(cluster.apart) : null);
    })));
    made.node.classList.toggle("wide", answer.clusters.length > 3);
    made.node.dataset.clusters = String(answer.count);
  });
  page.themed(() => refresh());
  made.update = refresh;
  return made;
}
