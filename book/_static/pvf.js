/* What the library computes, for pages that compute in the browser, and what draws it. Tests drive
   those pages and compare them with the library. */
"use strict";

const Pvf = (() => {
  /* --- Intervention Efficiency and F1, as in pvf/counts.py ------------------------------------ */

  function efficiency(tp, fp, nPos, nNeg, capacity) {
    const [flagged, population] = [tp + fp, nPos + nNeg];
    const room = capacity * population;
    if (flagged === 0 || flagged === population || capacity === 1) return 1;
    if (flagged > room) return (tp * population) / (flagged * nPos);
    const byChance = ((room - flagged) * (nPos - tp)) / (population - flagged);
    return (tp + byChance) / (capacity * nPos);
  }

  function f1(tp, fp, nPos) {
    return (2 * tp) / (tp + fp + nPos);
  }

  /* By rank: the highest values are treated, equal ones at the edge share what places are left. */
  function rankEfficiency(values, isCase, capacity) {
    const order = [...values.keys()].sort((a, b) => values[b] - values[a]);
    const [room, nPos] = [capacity * values.length, isCase.filter(Boolean).length];
    let [reached, start] = [0, 0];
    while (start < order.length && start < room) {
      let end = start;
      while (end < order.length && values[order[end]] === values[order[start]]) end += 1;
      const cases = order.slice(start, end).filter((i) => isCase[i]).length;
      reached += cases * Math.min(1, (room - start) / (end - start));
      start = end;
    }
    return reached / (capacity * nPos);
  }

  /* --- Distributions ---------------------------------------------------------------------------- */

  /* Share of a standard normal above x, by the series of the integral of its density. */
  function normalAbove(x) {
    if (Math.abs(x) > 9) return x > 0 ? 0 : 1;
    let [term, sum] = [x, 0];
    for (let k = 1; sum + term !== sum; k += 1) {
      sum += term;
      term *= (x * x) / (2 * k + 1);
    }
    return 0.5 - (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
  }

  /* Where a function that grows from below 0 to above 0 between low and high is 0. */
  function bisect(f, low, high, steps = 60) {
    for (let step = 0; step < steps; step += 1) {
      const middle = (low + high) / 2;
      if (f(middle) < 0) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  }

  /* log of the gamma function: Stirling's series above 10, reached by recurrence. */
  function logGamma(x) {
    let shift = 0;
    for (; x < 10; x += 1) shift -= Math.log(x);
    const y = 1 / (x * x);
    return shift + (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 +
      (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x;
  }

  /* Share of a Beta(a, b) below x, by the continued fraction of Lentz. */
  function betaBelow(x, a, b) {
    if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - betaBelow(1 - x, b, a);
    const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) +
      a * Math.log(x) + b * Math.log1p(-x)) / a;
    let [c, d] = [1, 1 / (1 - ((a + b) * x) / (a + 1))];
    let fraction = d;
    for (let m = 1; m < 10000; m += 1) {
      const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
      const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
      d = 1 / (1 + even * d);
      c = 1 + even / c;
      fraction *= c * d;
      d = 1 / (1 + odd * d);
      c = 1 + odd / c;
      fraction *= c * d;
      if (Math.abs(c * d - 1) < 1e-15) break;
    }
    return front * fraction;
  }

  function betaQuantile(share, a, b) {
    return bisect((x) => betaBelow(x, a, b) - share, 0, 1, 50);
  }

  /* Plausible shares of k in n at the middles of equal parts, with Jeffreys' prior. */
  function plausibleShares(k, n, parts) {
    if (n === 0) return Array(parts).fill(0);
    return Array.from({ length: parts }, (_, i) =>
      betaQuantile((i + 0.5) / parts, k + 0.5, n - k + 0.5));
  }

  /* As NumPy's quantile: linear between two neighbours of the sorted values. */
  function quantile(sorted, share) {
    const place = (sorted.length - 1) * share;
    const below = Math.floor(place);
    const above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
  }

  /* Random numbers from a seed and a key (sfc32): the same on every machine. */
  function generator(seed, key) {
    let [a, b, c, d] = [0x9e3779b9, seed | 0, key | 0, 1];
    const next = () => {
      const t = (((a + b) | 0) + d) | 0;
      d = (d + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = (((c << 21) | (c >>> 11)) + t) | 0;
      return ((t >>> 0) + 0.5) / 2 ** 32;
    };
    for (let i = 0; i < 20; i += 1) next();
    const normals = (n) => {
      const found = new Float64Array(n);
      for (let i = 0; i < n; i += 2) {
        const [radius, angle] = [Math.sqrt(-2 * Math.log(next())), 2 * Math.PI * next()];
        found[i] = radius * Math.cos(angle);
        if (i + 1 < n) found[i + 1] = radius * Math.sin(angle);
      }
      return found;
    };
    return { next, normals };
  }

  /* --- Rashomon Capacity ------------------------------------------------------------------------- */

  // What the rows tell is flat at its best, so that weights right to 1e-9 give all of its digits.
  const STEPS = 32;

  const divergence = (p, q) =>
    p.reduce((sum, share, k) => (share > 0 ? sum + share * Math.log(share / q[k]) : sum), 0);

  function mix(rows, weights) {
    return rows[0].map((_, k) => rows.reduce((sum, row, m) => sum + weights[m] * row[k], 0));
  }

  function information(rows, weights) {
    const centre = mix(rows, weights);
    return rows.reduce((sum, row, m) =>
      (weights[m] > 0 ? sum + weights[m] * divergence(row, centre) : sum), 0);
  }

  /* Best weights of two or three rows: what they tell is concave in the weight of the last row,
     and its slope is that row's divergence less the mean divergence of the others. */
  function bestWeights(rows) {
    if (rows.length === 1) return [1];
    const [others, last] = [rows.slice(0, -1), rows.at(-1)];
    // With two rows the others' own share is 1; with three it follows from the last one's weight.
    const within = (v) => {
      if (others.length === 1) return [1];
      const w = bisect((t) => {
        const centre = mix(rows, [(1 - v) * (1 - t), (1 - v) * t, v]);
        return divergence(rows[0], centre) - divergence(rows[1], centre);
      }, 0, 1, STEPS);
      return [1 - w, w];
    };
    const all = (v) => [...within(v).map((w) => (1 - v) * w), v];
    const v = bisect((t) => {
      const weights = all(t);
      const centre = mix(rows, weights);
      const mean = others.reduce((sum, row, m) => sum + weights[m] * divergence(row, centre), 0);
      return mean / (1 - t) - divergence(last, centre);
    }, 0, 1, STEPS);
    return all(v);
  }

  /* 2 to the capacity in bits. No more rows than there are classes carry it (Proposition 2 of Hsu
     and Calmon), so that the best pair or, of three classes, triple has it. */
  function rashomonCapacity(rows) {
    let best = { bits: 0, weights: rows.map((_, m) => (m === 0 ? 1 : 0)) };
    const consider = (members) => {
      const chosen = members.map((m) => rows[m]);
      const weights = bestWeights(chosen);
      const bits = information(chosen, weights) / Math.LN2;
      if (bits <= best.bits + 1e-14) return;
      const spread = rows.map((_, m) => (members.includes(m) ? weights[members.indexOf(m)] : 0));
      best = { bits, weights: spread };
    };
    for (let i = 0; i < rows.length; i += 1) {
      for (let j = 0; j < i; j += 1) {
        consider([i, j]);
        for (let k = 0; k < j && rows[0].length > 2; k += 1) consider([i, j, k]);
      }
    }
    return { ...best, capacity: 2 ** best.bits, centre: mix(rows, best.weights) };
  }

  /* --- Numbers as people write them, and drawings ------------------------------------------------ */

  /* The number that was typed, "0,1" as well as "0.1"; NaN if there is none. */
  function parse(typed) {
    const text = typed.trim().replace(/^([+-]?\d*),(\d+)$/, "$1.$2");
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
  }

  function short(value, digits = 4) {
    return String(Number(value.toPrecision(digits))).replace("-", "\u2212");
  }

  function element(tag, properties = {}, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  function shape(tag, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /* Empty axes over a whole drawing, in CSS pixels, so that letters keep their size on a phone. */
  function axes(svg, { x, y, height, labels, ticks }) {
    const width = Math.max(svg.clientWidth, 260);
    const edge = { left: 44, right: 12, top: 22, bottom: 40 };
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    svg.replaceChildren();
    const across = (v) => edge.left + ((v - x[0]) / (x[1] - x[0])) * (width - edge.left - edge.right);
    const up = (v) => height - edge.bottom -
      ((v - y[0]) / (y[1] - y[0])) * (height - edge.top - edge.bottom);
    const add = (tag, attributes, ...inner) => {
      svg.append(shape(tag, attributes, ...inner));
      return svg.lastChild;
    };
    for (const v of ticks.x) {
      add("line", { class: "grid", x1: across(v), x2: across(v), y1: up(y[0]), y2: up(y[1]) });
      add("text", { x: across(v), y: height - 24, "text-anchor": "middle" }, short(v));
    }
    for (const v of ticks.y) {
      add("line", { class: "grid", x1: across(x[0]), x2: across(x[1]), y1: up(v), y2: up(v) });
      add("text", { x: edge.left - 6, y: up(v) + 4, "text-anchor": "end" }, short(v));
    }
    add("text", { x: (width + edge.left) / 2, y: height - 6, "text-anchor": "middle" }, labels.x);
    add("text", { x: 4, y: 14 }, labels.y);
    const line = (xs, ys, name) => add("path", { class: name, d: xs.map((v, i) =>
      `${i ? "L" : "M"}${across(v).toFixed(1)} ${up(ys[i]).toFixed(1)}`).join("") });
    return { across, up, add, line, width };
  }

  /* Four or five round numbers between two ends. */
  function roundTicks(low, high) {
    const rough = (high - low) / 4;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
    const found = [];
    for (let v = Math.ceil(low / step - 1e-9); v * step <= high * (1 + 1e-9); v += 1) {
      found.push(v * step);
    }
    return found;
  }

  /* Show a form that sends nothing, and call what draws whenever a box has another width. Only the
     width counts: what is told below a drawing may change the height while it is used. */
  function open(form, redraw, box = form) {
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    let width = 0;
    new ResizeObserver(() => {
      if (width === box.clientWidth) return;
      width = box.clientWidth;
      redraw();
    }).observe(form);
  }

  return {
    efficiency, f1, rankEfficiency, normalAbove, bisect, betaQuantile, plausibleShares, quantile,
    generator, rashomonCapacity, parse, short, element, axes, roundTicks, shape, open,
  };
})();
