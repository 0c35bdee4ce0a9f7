/* The scores that several models give one person, as points that can be dragged, and the Rashomon
   Capacity of them. */
"use strict";

(() => {
  const at = (id) => document.getElementById(id);
  const [svg, form] = [at("triangle"), at("simplex")];
  const NAMES = ["A", "B", "C"];
  const STARTS = {
    2: [[0.85, 0.15], [0.1, 0.9], [0.5, 0.5]],
    3: [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.2, 0.1, 0.7]],
  };
  const MOST = 6;
  let rows = structuredClone(STARTS[3]);
  let corners = []; // where each class is certain, in the drawing's pixels
  let telling;

  /* Shares that are none below 0 and sum to 1, of three decimals. */
  function shares(values) {
    const positive = values.map((v) => Math.max(v, 0));
    const sum = positive.reduce((a, b) => a + b, 0);
    const rounded = positive.map((v) => Math.round((1000 * v) / sum));
    const largest = rounded.indexOf(Math.max(...rounded));
    rounded[largest] += 1000 - rounded.reduce((a, b) => a + b, 0);
    return rounded.map((v) => v / 1000);
  }

  /* Models of two classes lie one below the other, so that none hides another. */
  const lift = (m) => (rows[0].length === 2 ? 40 + 30 * m : 0);

  const place = (row, m) => [0, 1].map((axis) =>
    row.reduce((sum, share, k) => sum + share * corners[k][axis], 0) + (axis ? lift(m) : 0));

  function sharesAt(x, y) {
    const [[ax, ay], [bx, by], [cx, cy]] = [...corners, [0, 0]];
    if (corners.length === 2) {
      const b = Math.min(Math.max((x - ax) / (bx - ax), 0), 1);
      return shares([1 - b, b]);
    }
    const area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
    const b = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area;
    const c = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area;
    return shares([1 - b - c, b, c]);
  }

  function layOut() {
    const width = Math.max(svg.clientWidth, 240);
    const side = Math.min(width - 60, 440);
    const left = (width - side) / 2;
    const three = rows[0].length === 3;
    const height = three ? side * Math.sqrt(0.75) + 60 : 70 + 30 * rows.length;
    const base = three ? height - 30 : 20;
    corners = [[left, base], [left + side, base]];
    if (three) corners.push([left + side / 2, 30]);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    const frame = three
      ? Pvf.shape("polygon", { class: "simplex", points: corners.join(" ") })
      : Pvf.shape("line", { class: "simplex", x1: left, x2: left + side, y1: base, y2: base });
    const letters = corners.map(([x, y], k) => Pvf.shape("text", {
      x: x + [-16, 8, -4][k], y: y + [4, 4, -10][k] }, NAMES[k]));
    svg.replaceChildren(frame, ...letters, Pvf.shape("path", { class: "centre" }),
      ...rows.map((_, m) => handle(m)));
  }

  function handle(m) {
    const dot = Pvf.shape("g", { class: "handle", tabindex: 0, role: "slider",
      "aria-label": `Model ${m + 1}`, "aria-valuemin": 0, "aria-valuemax": 100 },
    Pvf.shape("circle", { class: "touch", r: 24 }), Pvf.shape("circle", { class: "dot", r: 11 }),
    Pvf.shape("text", { "text-anchor": "middle", y: 5 }, String(m + 1)));
    const move = (event) => {
      const box = svg.getBoundingClientRect();
      rows[m] = sharesAt(event.clientX - box.left, event.clientY - box.top - lift(m));
      show();
    };
    // A finger on a model drags it; it neither scrolls the page nor goes back in its history.
    dot.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    dot.addEventListener("pointerdown", (event) => {
      dot.setPointerCapture(event.pointerId);
      dot.addEventListener("pointermove", move);
    });
    ["pointerup", "pointercancel"].forEach((name) =>
      dot.addEventListener(name, () => dot.removeEventListener("pointermove", move)));
    dot.addEventListener("keydown", (event) => {
      const step = (event.shiftKey ? 0.1 : 0.01);
      const towards = { ArrowRight: [-1, 1, 0], ArrowLeft: [1, -1, 0],
        ArrowUp: [-0.5, -0.5, 1], ArrowDown: [0.5, 0.5, -1] }[event.key];
      if (!towards) return;
      event.preventDefault();
      if (rows[m].length === 2 && towards[2] !== 0) return;
      rows[m] = shares(rows[m].map((share, k) => share + step * towards[k]));
      show();
    });
    return dot;
  }

  function fillTable() {
    const head = ["Model", ...rows[0].map((_, k) => `Class ${NAMES[k]}`), "Weight"];
    at("models").tHead.replaceChildren(Pvf.element("tr", {}, ...head.map((textContent) =>
      Pvf.element("th", { scope: "col", textContent }))));
    at("models").tBodies[0].replaceChildren(...rows.map((row, m) => {
      const inputs = row.map((_, k) => {
        const input = Pvf.element("input", { type: "text", inputMode: "decimal", autocomplete: "off" });
        input.setAttribute("aria-label", `Model ${m + 1}, class ${NAMES[k]}`);
        input.addEventListener("change", () => type(m, k, Pvf.parse(input.value)));
        return Pvf.element("td", {}, input);
      });
      return Pvf.element("tr", {}, Pvf.element("th", { scope: "row", textContent: m + 1 }),
        ...inputs, Pvf.element("td", {}, Pvf.element("data")));
    }));
  }

  /* One typed share; the others keep their proportions. */
  function type(m, k, value) {
    if (value >= 0 && value <= 1) {
      const rest = 1 - rows[m][k];
      rows[m] = shares(rows[m].map((share, other) => {
        if (other === k) return value;
        return rest > 0 ? (share * (1 - value)) / rest : (1 - value) / (rows[m].length - 1);
      }));
    }
    show();
  }

  /* Everything that depends on the scores. */
  function show() {
    const found = Pvf.rashomonCapacity(rows);
    [...svg.querySelectorAll(".handle")].forEach((dot, m) => {
      dot.setAttribute("transform", `translate(${place(rows[m], m)})`);
      dot.setAttribute("aria-valuenow", Math.round(100 * rows[m][0]));
      dot.setAttribute("aria-valuetext", rows[m].map((share, k) =>
        `${NAMES[k]} ${Pvf.short(100 * share)}%`).join(", "));
      dot.classList.toggle("idle", found.weights[m] < 1e-6);
    });
    const [x, y] = place(found.centre, 0).map((v, axis) => (axis ? v - lift(0) : v));
    svg.querySelector(".centre").setAttribute("d", `M${x - 7} ${y}h14M${x} ${y - 7}v14`);
    [...at("models").tBodies[0].rows].forEach((line, m) => {
      line.querySelectorAll("input").forEach((input, k) => {
        input.value = rows[m][k];
      });
      const weight = line.querySelector("data");
      weight.value = found.weights[m];
      weight.textContent = found.weights[m].toFixed(3);
    });
    form.dataset.capacity = found.capacity;
    clearTimeout(telling); // told once the reader pauses, so that a screen reader isn't flooded
    telling = setTimeout(() => { say(found); form.dataset.settled = "yes"; }, 150);
    delete form.dataset.settled;
  }

  function say({ capacity, bits }) {
    const n = rows[0].length;
    const meaning = capacity < 1.0005 ? "the models agree"
      : capacity > n - 0.0005 ? "each class is given with certainty by some model"
        : `1 would be agreement, ${n} full conflict`;
    at("capacity-said").textContent = `Rashomon Capacity: ${capacity.toFixed(4)} effective classes ` +
      `of ${n} (${bits.toFixed(4)} bits); ${meaning}.`;
  }

  function rebuild() {
    at("add").disabled = rows.length >= MOST;
    at("remove").disabled = rows.length <= 2;
    layOut();
    fillTable();
    show();
  }

  at("classes").addEventListener("change", () => {
    rows = structuredClone(STARTS[at("classes").value]);
    rebuild();
  });
  at("add").addEventListener("click", () => {
    rows.push(shares(rows[0].map((_, k) => 1 + 0.4 * ((rows.length + k) % 3))));
    rebuild();
  });
  at("remove").addEventListener("click", () => { rows.pop(); rebuild(); });
  Pvf.open(form, rebuild, svg);
  window.addEventListener("pageshow", () => {
    rows = structuredClone(STARTS[at("classes").value]);
    rebuild();
  });
})();
