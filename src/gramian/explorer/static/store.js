// What the panels share: the selection, the axes, the colours. Kept in the address, so that a reload brings it back.

const START = {
  x: 0, y: 1, colour: "", tool: "point", row: -1, latent: null, polygon: null, cluster: -1,
  zoom: null, ellipses: false, sort: "", down: false, filter: "", only: "", page: 0, seed: 0, view: "", series: "", steps: 24, level: 0.99,
};

export function createStore(text, changed) {
  const values = { ...START, ...readState(text) };
  const listeners = [];
  return {
    get: () => values,
    set(patch) {
      const keys = Object.keys(patch).filter((key) => JSON.stringify(values[key]) !== JSON.stringify(patch[key]));
      if (!keys.length) return;
      Object.assign(values, patch);
      for (const [wanted, work] of listeners) if (keys.some((key) => wanted.includes(key))) work(values);
      changed(writeState(values));
    },
    on(keys, work) { listeners.push([keys, work]); },
  };
}

function readState(text) {
  const found = {};
  for (const [key, value] of new URLSearchParams(text)) {
    if (!(key in START)) continue;
    const start = START[key];
    if (key === "latent" || key === "zoom") found[key] = value.split(",").map(Number).filter(Number.isFinite);
    else if (key === "polygon") found[key] = corners(value);
    else if (typeof start === "number") found[key] = Number.isFinite(Number(value)) ? Number(value) : start;
    else if (typeof start === "boolean") found[key] = value === "1";
    else found[key] = value.slice(0, 1000);
  }
  return found;
}

function corners(text) {
  const numbers = text.split(",").map(Number);
  if (numbers.length < 6 || numbers.length % 2 || !numbers.every(Number.isFinite)) return null;
  return Array.from({ length: numbers.length / 2 }, (_, i) => [numbers[2 * i], numbers[2 * i + 1]]);
}

function writeState(values) {
  const found = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value === null || JSON.stringify(value) === JSON.stringify(START[key])) continue;
    if (Array.isArray(value)) found.set(key, value.flat().map((v) => Number(v.toPrecision(5))).join(","));
    else found.set(key, value === true ? "1" : String(value));
  }
  return found.toString();
}
