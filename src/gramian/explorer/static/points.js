// Many points, fast: a canvas for some thousands, WebGL above. Colours are four bytes per point.

export const MANY_POINTS = 20000;
const MOVING_POINTS = 40000; // drawn when the map begins to move; all of them when it rests
const FEWEST_POINTS = 4000;

const VERTEX = `#version 300 es
in float px; in float py; in vec4 colour; uniform vec4 view; uniform float size; out vec4 shade;
void main() {
  gl_Position = vec4(px * view.x + view.z, py * view.y + view.w, 0.0, 1.0);
  gl_PointSize = size; shade = colour;
}`;
const FRAGMENT = `#version 300 es
precision mediump float; in vec4 shade; out vec4 paint; uniform float round;
void main() {
  vec2 d = gl_PointCoord - vec2(0.5);
  if (round > 0.5 && dot(d, d) > 0.25) discard;
  paint = vec4(shade.rgb * shade.a, shade.a);
}`;

export function pointPainter(canvas, count) {
  const gl = count > MANY_POINTS ? canvas.getContext("webgl2", { antialias: false }) : null;
  return gl ? glPainter(canvas, gl) : canvasPainter(canvas);
}

function glPainter(canvas, gl) {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  gl.useProgram(program);
  const buffers = {};
  const fill = (name, data, size, kind, normal) => {
    buffers[name] = buffers[name] || { buffer: gl.createBuffer(), place: gl.getAttribLocation(program, name) };
    const { buffer, place } = buffers[name];
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, kind, normal, 0, 0);
  };
  const places = Object.fromEntries(["view", "size", "round"].map((name) => [name, gl.getUniformLocation(program, name)]));
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  let order = new Uint32Array();
  let together = MOVING_POINTS;
  let last = 0;
  return {
    kind: "webgl",
    drawn: 0,
    setPoints(x, y) {
      if (order.length !== x.length) order = scattered(x.length);
      fill("px", order_(x, new Float32Array(x.length)), 1, gl.FLOAT, false);
      fill("py", order_(y, new Float32Array(y.length)), 1, gl.FLOAT, false);
    },
    setColours(bytes) {
      fill("colour", new Uint8Array(order_(new Uint32Array(bytes.buffer), new Uint32Array(order.length)).buffer), 4, gl.UNSIGNED_BYTE, true);
    },
    setRings() {}, // many points are too small for it
    draw(view, ratio, moving) {
      const n = order.length;
      if (moving) together = affordable(together, n);
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      const { x0, x1, y0, y1 } = view;
      const sx = 2 / (x1 - x0);
      const sy = 2 / (y1 - y0);
      const size = Math.max(1, (n > 200000 ? 1.5 : 3) * ratio);
      gl.uniform4f(places.view, sx, sy, -1 - x0 * sx, -1 - y0 * sy);
      gl.uniform1f(places.size, size);
      gl.uniform1f(places.round, size > 2.5 ? 1 : 0);
      this.drawn = moving ? Math.min(n, Math.round(together)) : n;
      gl.drawArrays(gl.POINTS, 0, this.drawn);
    },
  };

  function order_(from, to) {
    for (let k = 0; k < order.length; k += 1) to[k] = from[order[k]];
    return to;
  }

  // As many points as the last frames had time for: all of them where there is a graphics card.
  function affordable(count, n) {
    const now = performance.now();
    const took = now - last;
    last = now;
    if (took > 250) return count; // it rested
    return Math.min(n, Math.max(FEWEST_POINTS, count * (took > 30 ? 0.7 : took < 20 ? 1.3 : 1)));
  }
}

// Every point once, such that the first of them are spread over all: steps of the golden section, where no point is met twice.
function scattered(n) {
  const common = (a, b) => (b ? common(b, a % b) : a);
  let step = Math.max(1, Math.round(n * 0.6180339887));
  while (common(step, n) > 1) step += 1;
  const order = new Uint32Array(n);
  for (let k = 1; k < n; k += 1) order[k] = (order[k - 1] + step) % n;
  return order;
}

function canvasPainter(canvas) {
  const context = canvas.getContext("2d");
  let xs = new Float32Array();
  let ys = new Float32Array();
  let colours = new Uint8Array();
  let rings = null; // which points are rings: a second set of marks, so that sixteen values can be told apart
  return {
    kind: "canvas",
    setPoints(x, y) { xs = x; ys = y; },
    setColours(bytes) { colours = bytes; },
    setRings(flags) { rings = flags; },
    draw(view, ratio) {
      const { x0, x1, y0, y1 } = view;
      const width = canvas.width;
      const height = canvas.height;
      context.clearRect(0, 0, width, height);
      const radius = (xs.length > 5000 ? 1.8 : xs.length > 800 ? 2.6 : 3.4) * ratio;
      const groups = new Map();
      for (let i = 0; i < xs.length; i += 1) {
        const key = (colours[4 * i] << 24) | (colours[4 * i + 1] << 16) | (colours[4 * i + 2] << 8) | colours[4 * i + 3];
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push(i);
      }
      for (const members of groups.values()) {
        const i0 = 4 * members[0];
        context.fillStyle = context.strokeStyle = `rgba(${colours[i0]},${colours[i0 + 1]},${colours[i0 + 2]},${colours[i0 + 3] / 255})`;
        context.lineWidth = 0.55 * radius;
        for (const i of members) {
          const px = ((xs[i] - x0) / (x1 - x0)) * width;
          const py = height - ((ys[i] - y0) / (y1 - y0)) * height;
          if (px < -9 || py < -9 || px > width + 9 || py > height + 9) continue;
          context.beginPath();
          context.arc(px, py, radius, 0, 7);
          if (rings && rings[i]) context.stroke(); else context.fill();
        }
      }
    },
  };
}
