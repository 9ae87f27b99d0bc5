// Many points, fast: a canvas for some thousands, WebGL above. Colours are four bytes per point.

export const MANY_POINTS = 20000;
const MOVING_POINTS = 40000; // drawn while the map moves; all of them when it rests

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
  const gl = count > MANY_POINTS ? canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true }) : null;
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
    buffers[name] = buffers[name] || { buffer: gl.createBuffer(), place: gl.getAttribLocation(program, name), size, kind, normal };
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name].buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(buffers[name].place);
  };
  // every step-th point: four bytes per value, so a stride skips the others
  const point = (step) => {
    for (const { buffer, place, size, kind, normal } of Object.values(buffers)) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.vertexAttribPointer(place, size, kind, normal, step > 1 ? 4 * step : 0, 0);
    }
  };
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  let n = 0;
  return {
    kind: "webgl",
    setPoints(x, y) { n = x.length; fill("px", x, 1, gl.FLOAT, false); fill("py", y, 1, gl.FLOAT, false); },
    setColours(bytes) { fill("colour", bytes, 4, gl.UNSIGNED_BYTE, true); },
    draw(view, ratio, moving) {
      const step = moving ? Math.min(60, Math.ceil(n / MOVING_POINTS)) : 1;
      point(step);
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      const { x0, x1, y0, y1 } = view;
      const sx = 2 / (x1 - x0);
      const sy = 2 / (y1 - y0);
      const size = Math.max(1, (n > 200000 ? 1.5 : 3) * ratio);
      gl.uniform4f(gl.getUniformLocation(program, "view"), sx, sy, -1 - x0 * sx, -1 - y0 * sy);
      gl.uniform1f(gl.getUniformLocation(program, "size"), size);
      gl.uniform1f(gl.getUniformLocation(program, "round"), size > 2.5 ? 1 : 0);
      gl.drawArrays(gl.POINTS, 0, Math.ceil(n / step));
    },
  };
}

function canvasPainter(canvas) {
  const context = canvas.getContext("2d");
  let xs = new Float32Array();
  let ys = new Float32Array();
  let colours = new Uint8Array();
  return {
    kind: "canvas",
    setPoints(x, y) { xs = x; ys = y; },
    setColours(bytes) { colours = bytes; },
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
        context.fillStyle = `rgba(${colours[i0]},${colours[i0 + 1]},${colours[i0 + 2]},${colours[i0 + 3] / 255})`;
        for (const i of members) {
          const px = ((xs[i] - x0) / (x1 - x0)) * width;
          const py = height - ((ys[i] - y0) / (y1 - y0)) * height;
          if (px < -9 || py < -9 || px > width + 9 || py > height + 9) continue;
          context.beginPath();
          context.arc(px, py, radius, 0, 7);
          context.fill();
        }
      }
    },
  };
}
