
const PATIENCE = 8000;

function widgetHome(model) {
  const waiting = new Map();
  let count = 0;
  model.on("msg:custom", (message) => {
    const found = waiting.get(message.id);
    if (!found) return;
    waiting.delete(message.id);
    found({ status: message.status, output: message.output });
  });
  return {
    lost: "The kernel does not answer: it is at work on something else, or it has ended. The page tries again by itself.",
    call: (verb, input) => new Promise((resolve, reject) => {
      const id = `${Date.now()}-${count += 1}`;
      waiting.set(id, resolve);
      if (verb === "state") setTimeout(() => waiting.delete(id) && reject(Object.assign(new Error("No answer."), { lost: true })), PATIENCE);
      model.send({ id, verb, input: input || {} });
    }),
    readState: () => model.get("view") || "",
    writeState: (text) => { model.set("view", text); model.save_changes(); },
    setTitle: () => {},
  };
}

export default {
  render({ model, el: host }) {
    const root = document.createElement("div");
    root.className = "gramian widget";
    host.appendChild(root);
    const dark = document.body.dataset.jpThemeLight === "false" || document.documentElement.classList.contains("dark");
    const told = document.body.dataset.jpThemeLight !== undefined || dark;
    if (told) root.dataset.theme = dark ? "dark" : "light";
    return explorer(root, widgetHome(model));
  },
};
