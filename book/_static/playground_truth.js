/* Twenty people on a line, 41 thresholds, and a truth that follows from the normal distribution. A
   test gives the library the same people and the same noise and compares all scores. */
"use strict";

const Truth = (() => {
  const THRESHOLDS = Array.from({ length: 41 }, (_, j) => j / 8 - 1);
  const [N_CASES, N_PEOPLE, N_SETS, N_REPLICAS] = [6, 20, 100, 7];
  const PREVALENCE = N_CASES / N_PEOPLE;

  const byCounts = (score) => ({
    // A threshold flags who is above it, so that one pass over the people counts for all of them.
    all: (values) => {
      const [tp, fp] = [new Float64Array(42), new Float64Array(42)];
      for (let i = 0; i < values.length; i += 1) {
        const above = Math.min(Math.max(Math.ceil(values[i] * 8) + 8, 0), 41);
        (i % N_PEOPLE < N_CASES ? tp : fp)[above] += 1;
      }
      const n = values.length;
      for (let j = 40; j > 0; j -= 1) {
        tp[j] += tp[j + 1];
        fp[j] += fp[j + 1];
      }
      return THRESHOLDS.map((_, j) =>
        score(tp[j + 1], fp[j + 1], n * PREVALENCE, n * (1 - PREVALENCE)));
    },
    truth: () => THRESHOLDS.map((t) =>
      score(300 * Pvf.normalAbove(t - 3), 700 * Pvf.normalAbove(t), 300, 700)),
  });

  /* Whatever the threshold, the order of the people is the same. */
  const byRank = (capacity) => ({
    all: (values) => {
      const isCase = Array.from(values, (_, i) => i % N_PEOPLE < N_CASES);
      return Array(41).fill(Pvf.rankEfficiency(values, isCase, capacity));
    },
    truth: () => {
      const cases = (t) => PREVALENCE * Pvf.normalAbove(t - 3);
      const treated = (t) => cases(t) + (1 - PREVALENCE) * Pvf.normalAbove(t);
      const last = Pvf.bisect((t) => capacity - treated(t), -9, 9);
      return Array(41).fill(cases(last) / (capacity * PREVALENCE));
    },
  });

  const MEASURES = {
    ie10: byCounts((...counts) => Pvf.efficiency(...counts, 0.1)),
    ie30: byCounts((...counts) => Pvf.efficiency(...counts, 0.3)),
    f1: byCounts(Pvf.f1),
    rank10: byRank(0.1),
  };

  const people = (seed) =>
    Pvf.generator(seed, 0).normals(N_PEOPLE).map((z, i) => z + (i < N_CASES ? 3 : 0));

  /* Standard normal, for set after set, in each copy after copy, person after person. */
  const noise = (seed) => Pvf.generator(seed, 1).normals(N_SETS * N_REPLICAS * N_PEOPLE);

  function judge(x, z, sigma, measure) {
    const { all, truth } = MEASURES[measure];
    const size = N_REPLICAS * N_PEOPLE;
    const sets = Array.from({ length: N_SETS }, (_, m) => all(Float64Array.from(
      { length: size }, (_, i) => x[i % N_PEOPLE] + sigma * z[m * size + i])));
    const pvf = THRESHOLDS.map((_, j) =>
      Pvf.quantile(Float64Array.from(sets, (set) => set[j]).sort(), 0.25));
    return { traditional: all(x), pvf, truth: truth() };
  }

  /* All that are as good as the best, within rounding. */
  function tied(scores) {
    const best = Math.max(...scores);
    return [...scores.keys()].filter((j) => best - scores[j] <= 1e-12 + 1e-9 * Math.abs(best));
  }

  function chosen(scores, rule) {
    const ties = tied(scores);
    return rule === "random" ? ties : [ties.at(rule === "first" ? 0 : -1)];
  }

  /* How often PVF's choice is truly better, worse or as good, and by how much on average. */
  function outcome({ traditional, pvf, truth }, rule) {
    const [ours, theirs] = [chosen(pvf, rule), chosen(traditional, rule)];
    const found = { win: 0, loss: 0, tie: 0, gain: 0 };
    const share = 1 / (ours.length * theirs.length);
    for (const i of ours) {
      for (const j of theirs) {
        const gain = truth[i] - truth[j];
        found[gain > 1e-12 ? "win" : gain < -1e-12 ? "loss" : "tie"] += share;
        found.gain += gain * share;
      }
    }
    return found;
  }

  return { THRESHOLDS, people, noise, judge, tied, chosen, outcome };
})();

(() => {
  const at = (id) => document.getElementById(id);
  const form = at("truth");
  let seed = 1;
  let repetition = 0; // a change stops the repetition that is under way

  const settings = () => [Number(at("sigma").value), at("measure").value, at("rule").value];
  const mean = (values, members) =>
    members.reduce((sum, j) => sum + values[j], 0) / members.length;

  function update() {
    const [sigma, measure, rule] = settings();
    const x = Truth.people(seed);
    const scores = Truth.judge(x, Truth.noise(seed), sigma, measure);
    at("sigma-shown").textContent = Pvf.short(sigma);
    draw(x, scores, rule);
    at("choice").textContent = describe(scores, rule);
    at("scores").tBodies[0].replaceChildren(...Truth.THRESHOLDS.map((t, j) =>
      Pvf.element("tr", {}, ...[t, scores.traditional[j], scores.pvf[j], scores.truth[j]].map(
        (v) => Pvf.element("td", {}, Pvf.element("data", { value: v, textContent: Pvf.short(v) }))))));
  }

  function describe({ traditional, pvf, truth }, rule) {
    const best = Truth.tied(truth);
    if (best.length === 41) {
      return `By rank all 41 thresholds are one: they put the people in the same order, and the ` +
        `places go to the first of it. IE is ${Pvf.short(traditional[0])} among the twenty and ` +
        `${Pvf.short(truth[0])} in truth.`;
    }
    const told = (name, scores) => {
      const [ties, choice] = [Truth.tied(scores), Truth.chosen(scores, rule)];
      const which = choice.length > 1
        ? `draws among ${Pvf.short(Truth.THRESHOLDS[ties[0]])} to ${Pvf.short(Truth.THRESHOLDS[ties.at(-1)])}`
        : `chooses ${Pvf.short(Truth.THRESHOLDS[choice[0]])}`;
      const count = ties.length > 1 ? `, one of ${ties.length} that tie` : "";
      return `${name} ${which}${count}, truly worth ${Pvf.short(mean(truth, choice))}.`;
    };
    return `${told("The traditional method", traditional)} ${told("PVF", pvf)} ` +
      `The best threshold, ${Pvf.short(Truth.THRESHOLDS[best[0]])}, is worth ${Pvf.short(truth[best[0]])}.`;
  }

  function draw(x, scores, rule) {
    const every = [...scores.traditional, ...scores.pvf, ...scores.truth];
    const y = [Math.min(0, ...every), Math.max(...every) * 1.02];
    const far = [Math.min(-3, ...x), Math.max(6, ...x)];
    const plot = Pvf.axes(at("people"), {
      x: far, y: [y[0], y[1] + 0.16 * (y[1] - y[0])], height: 340,
      labels: { x: "value of a person, and threshold", y: "score" },
      ticks: { x: [-2, 0, 2, 4, 6], y: Pvf.roundTicks(...y) },
    });
    x.forEach((v, i) => plot.add("circle", {
      class: `person ${i < 6 ? "case" : ""}`, cx: plot.across(v), cy: 34 - 8 * (i % 2), r: 5,
    }));
    for (const name of ["truth", "traditional", "pvf"]) {
      plot.line(Truth.THRESHOLDS, scores[name], `is-${name}`);
      const ties = Truth.tied(scores[name]);
      if (name !== "truth") {
        ties.forEach((j) => plot.add("circle", {
          class: `is-${name} tied`, cx: plot.across(Truth.THRESHOLDS[j]), cy: plot.up(scores[name][j]), r: 4,
        }));
      }
      const choice = name === "truth" ? ties : Truth.chosen(scores[name], rule);
      if (choice.length > 1) continue;
      const across = plot.across(Truth.THRESHOLDS[choice[0]]);
      plot.add("line", { class: `mark is-${name}`, x1: across, x2: across,
        y1: plot.up(y[0]), y2: plot.up(scores.truth[choice[0]]) });
      const size = { truth: 9, traditional: 7, pvf: 5 }[name];
      plot.add("path", { class: `chosen is-${name}`,
        d: `M${across - size} ${plot.up(y[0]) + 2}h${2 * size}l${-size} ${-1.6 * size}z` });
    }
  }

  /* A thousand other draws, a few at a time, so that the page stays awake. */
  function repeat() {
    const mine = ++repetition;
    const [sigma, measure, rule] = settings();
    const outcomes = [];
    at("repeat").disabled = true;
    at("repeated").textContent = "Computing …";
    const some = () => {
      if (mine !== repetition) return;
      const until = performance.now() + 40;
      while (outcomes.length < 1000 && performance.now() < until) {
        const key = seed + 1 + outcomes.length;
        const scores = Truth.judge(Truth.people(key), Truth.noise(key), sigma, measure);
        outcomes.push(Truth.outcome(scores, rule));
      }
      at("repeat").textContent = `${outcomes.length} of 1,000`;
      if (outcomes.length < 1000) setTimeout(some);
      else report(outcomes);
    };
    some();
  }

  function report(outcomes) {
    const total = (name) => outcomes.reduce((sum, o) => sum + o[name], 0);
    const [win, loss, tie, gain] = ["win", "loss", "tie", "gain"].map(total);
    const n = outcomes.length;
    const spread = outcomes.reduce((sum, o) => sum + (o.gain - gain / n) ** 2, 0);
    const half = 1.96 * Math.sqrt(spread / (n - 1) / n);
    const whole = (value) => String(Math.round(value));
    at("repeated").textContent = `In ${n} draws of twenty people PVF’s choice is truly better in ` +
      `${whole(win)}, worse in ${whole(loss)} and as good in ${whole(tie)}. On average its true ` +
      `score is ${Pvf.short(Math.abs(gain / n), 2)} ${gain < 0 ? "lower" : "higher"} (95% interval ` +
      `${Pvf.short(gain / n - half, 2)} to ${Pvf.short(gain / n + half, 2)}).`;
    Object.assign(at("repeated").dataset, { win, loss, tie, gain: gain / n });
    drawOutcomes({ wins: win, ties: tie, losses: loss }, n);
    idle();
  }

  function drawOutcomes(counts, n) {
    const svg = at("outcomes");
    svg.removeAttribute("hidden");
    const width = Math.max(svg.clientWidth, 260);
    svg.setAttribute("viewBox", `0 0 ${width} 84`);
    svg.setAttribute("height", 84);
    const colours = { wins: "var(--pvf)", ties: "var(--pst-color-text-muted)", losses: "var(--traditional)" };
    svg.replaceChildren(...Object.entries(counts).flatMap(([name, count], row) => [
      Pvf.shape("text", { x: 0, y: 20 + 27 * row }, name),
      Pvf.shape("rect", { x: 56, y: 6 + 27 * row, height: 18, style: `fill: ${colours[name]}`,
        width: Math.max(((width - 110) * count) / n, 1) }),
      Pvf.shape("text", { x: 62 + ((width - 110) * count) / n, y: 20 + 27 * row }, String(Math.round(count))),
    ]));
  }

  function idle() {
    at("repeat").disabled = false;
    at("repeat").textContent = "Repeat 1,000 times";
  }

  function changed() {
    repetition += 1;
    idle();
    at("outcomes").setAttribute("hidden", "");
    at("repeated").textContent = "These settings have not been repeated yet.";
    update();
  }

  ["sigma", "measure", "rule"].forEach((id) => at(id).addEventListener("input", changed));
  at("redraw").addEventListener("click", () => { seed += 1; update(); });
  at("repeat").addEventListener("click", repeat);
  Pvf.open(form, update);
  window.addEventListener("pageshow", update);
})();
