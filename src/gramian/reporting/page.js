(function () {
  "use strict";
  document.documentElement.classList.add("js");

  // what a mark is called, beside the pointer (without this script the browser shows it by itself, a little later)
  var tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.appendChild(tip);
  document.querySelectorAll("svg title").forEach(function (title) {
    var mark = title.parentNode;
    mark.setAttribute("data-tip", title.textContent);
    mark.removeChild(title);
  });
  function show(event) {
    var mark = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.getAttribute("data-tip");
    var x = event.clientX + 14, y = event.clientY + 14;
    if (x + tip.offsetWidth > window.innerWidth - 8) x = Math.max(8, event.clientX - 14 - tip.offsetWidth);
    if (y + tip.offsetHeight > window.innerHeight - 8) y = event.clientY - 14 - tip.offsetHeight;
    tip.style.left = x + "px";
    tip.style.top = y + "px";
  }
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", function () { tip.hidden = true; }, true);

  // tables are sorted by a click on a heading
  function value(row, column) {
    var cell = row.cells[column];
    var order = cell.getAttribute("data-v");
    return order === null ? cell.textContent.trim() : Number(order);
  }
  function sort(heading) {
    var column = heading.cellIndex;
    var body = heading.closest("table").tBodies[0];
    var up = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    Array.prototype.forEach.call(heading.parentNode.cells, function (other) { other.removeAttribute("aria-sort"); });
    heading.setAttribute("aria-sort", up === 1 ? "ascending" : "descending");
    Array.prototype.slice.call(body.rows).sort(function (a, b) {
      var left = value(a, column), right = value(b, column);
      if (left === "" || right === "") return left === right ? 0 : left === "" ? 1 : -1;
      if (typeof left === "number" && typeof right === "number") return up * (left - right);
      return up * String(left).localeCompare(String(right), undefined, { numeric: true });
    }).forEach(function (row) { body.appendChild(row); });
  }
  document.querySelectorAll("th[data-sort]").forEach(function (heading) {
    if (heading.closest("table").tBodies[0].rows.length < 2) return;
    heading.tabIndex = 0;
    heading.classList.add("sortable");
    heading.addEventListener("click", function () { sort(heading); });
    heading.addEventListener("keydown", function (event) {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(heading); }
    });
  });
})();
