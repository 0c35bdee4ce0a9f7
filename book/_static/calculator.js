/* The calculator of Intervention Efficiency. What it computes is what pvf/metrics.py computes, in
   the same order of operations; a test drives the page and compares the two. */
"use strict";

(() => {
  const form = document.getElementById("calculator");
  const fields = new Map();
  const NAMES = { counts: ["tp", "fp"], ratios: ["precision", "recall"], rank: ["hits"] };
  const PEOPLE = ["population", "positives", "capacity"];
  const { element, short } = Pvf;
  let known = "counts";
  let touched = false; // until the reader changes something, the address stays as it is
  let turn = 0; // formulas are typeset one after another; only the last one asked for is shown
  let announcement;

  /* One field: a label, a number to type, a slider, and a place for what is wrong with it. */
  class Field {
    constructor(box) {
      const { name, label, minimum, end, step, value, whole } = box.dataset;
      Object.assign(this, { box, name, label, minimum: Number(minimum), whole: whole !== undefined });
      const hint = box.querySelector(".hint");
      hint.id = `${name}-hint`;
      this.number = element("input", {
        type: "text", id: name, name, value, inputMode: this.whole ? "numeric" : "text",
        autocomplete: "off", required: true,
      });
      this.number.setAttribute("aria-describedby", `${name}-hint ${name}-error`);
      this.slider = element("input", { type: "range", min: minimum, max: end, step: step ?? "1", value });
      this.slider.setAttribute("aria-label", `${label}, slider`);
      this.error = element("span", { className: "error", id: `${name}-error` });
      box.prepend(element("label", { htmlFor: name, textContent: label }), this.number, this.slider);
      box.append(this.error);
      this.number.addEventListener("input", () => { touched = true; update(); });
      this.slider.addEventListener("input", () => {
        touched = true;
        this.number.value = this.slider.value;
        update();
      });
      fields.set(name, this);
    }

    /* Its number as typed: "0,1" is 0.1; of the capacity also "10%" or "10 places". */
    parsed() {
      const typed = this.number.value.trim();
      if (this.name !== "capacity") return Pvf.parse(typed);
      const [, number, unit] = typed.match(/^(.*?)\s*(%|places?|)$/i);
      const people = { "": 1, "%": 100 }[unit] ?? Pvf.parse(fields.get("population").number.value);
      return Pvf.parse(number) / people;
    }

    /* Its number, or NaN after saying what is wrong with it. */
    read() {
      const typed = this.number.value.trim();
      if (this.whole && /^\d{1,3}([.,]\d{3})+$/.test(typed)) {
        return this.refuse(`is ambiguous: write ${typed.replace(/[.,]/g, "")} or a decimal`);
      }
      const value = this.parsed();
      if (!Number.isFinite(value)) return this.refuse("needs a number");
      if (this.whole && !Number.isInteger(value)) return this.refuse("must be a whole number");
      if (value < this.minimum) return this.refuse(`can’t be below ${this.minimum}`);
      return value;
    }

    refuse(why) {
      this.number.setAttribute("aria-invalid", "true");
      this.error.textContent = `${this.label} ${why}.`;
      return NaN;
    }

    accept() {
      this.number.removeAttribute("aria-invalid");
      this.error.textContent = "";
    }

    endAt(end) {
      if (end >= this.minimum) this.slider.max = end;
      this.slider.value = this.parsed();
    }
  }

  const suffixes = () => (document.getElementById("second").checked ? ["", "2"] : [""]);

  /* All numbers of each model, or null if one of them is impossible; such a one says so itself. */
  function readAll() {
    fields.forEach((field) => field.accept());
    const read = (names) => Object.fromEntries(names.map((name) => [name, fields.get(name).read()]));
    const people = read(PEOPLE);
    refuseImpossiblePeople(people);
    const models = suffixes().map((suffix) => {
      const own = NAMES[known].map((name) => [name, fields.get(name + suffix).read()]);
      const given = { ...people, ...Object.fromEntries(own) };
      const refuse = (name, why) => fields.get(name + suffix).refuse(why);
      ({ counts: refuseImpossibleCounts, ratios: refuseImpossibleRatios, rank: refuseImpossibleRank })[
        known](given, refuse);
      return given;
    });
    return [...fields.values()].some((field) => field.error.textContent) ? null : models;
  }

  function refuseImpossiblePeople({ population, positives, capacity }) {
    if (positives === 0) {
      fields.get("positives").refuse("must be at least 1: with nobody to reach, IE has no value");
    } else if (positives > population) {
      fields.get("positives").refuse(`can’t exceed the population, ${short(population)}`);
    }
    if (capacity <= 0 || capacity > 1) fields.get("capacity").refuse("must be above 0 and at most 1");
  }

  function refuseImpossibleCounts({ population, positives, tp, fp }, refuse) {
    if (tp > positives) refuse("tp", `can’t exceed the positives, ${short(positives)}`);
    const negatives = population - positives;
    if (negatives >= 0 && fp > negatives) {
      refuse("fp", `can’t exceed those who are not positive, ${short(negatives)}`);
    }
  }

  function refuseImpossibleRatios({ population, positives, precision, recall }, refuse) {
    if (precision > 1) refuse("precision", "can’t exceed 1");
    if (recall > 1) refuse("recall", "can’t exceed 1");
    if (precision > 0 && recall === 0) {
      refuse("recall", "can’t be 0 if the precision is not: some flags are right");
    }
    if (precision === 0 && recall > 0) {
      refuse("precision", "can’t be 0 if the recall is not: some flags are right");
    }
    const found = recall * positives;
    const least = found / (found + population - positives);
    if (precision > 0 && precision <= 1 && recall <= 1 && precision < least * (1 - 1e-9)) {
      refuse("precision", `can’t be below ${short(least)} here: the model would flag more people than there are`);
    }
  }

  function refuseImpossibleRank({ population, positives, capacity, hits }, refuse) {
    const places = capacity * population;
    if (hits > places * (1 + 1e-9)) refuse("hits", `can’t exceed the places, ${short(places)}`);
    if (hits > positives) refuse("hits", `can’t exceed the positives, ${short(positives)}`);
    const least = places - (population - positives);
    if (hits < least * (1 - 1e-9)) {
      refuse("hits", `can’t be below ${short(least)}: there are more places than others`);
    }
  }

  /* pvf.intervention_efficiency_counts */
  function fromCounts({ population, positives, capacity, tp, fp }) {
    const flagged = tp + fp;
    return {
      ie: Pvf.efficiency(tp, fp, positives, population - positives, capacity),
      flagged, room: capacity * population, whole: flagged === population,
    };
  }

  /* By rank as many are flagged as there are places. */
  function countsOf(given) {
    if (known === "counts") return given;
    if (known === "rank") {
      return { ...given, tp: given.hits, fp: Math.max(given.capacity * given.population - given.hits, 0) };
    }
    const tp = given.recall * given.positives;
    return { ...given, tp, fp: (tp / given.precision) * (1 - given.precision) };
  }

  const resultOf = (given) => (known === "ratios" ? fromRatios(given) : fromCounts(countsOf(given)));

  /* What IE may be at each capacity, from the counts: the middle 95% of plausible shares of flagged
     positives and of flagged others (Jeffreys' prior), as on a model card. By rank the places limit
     how many positives can be among them. */
  function intervalsOf(given, capacities, parts) {
    const { population, positives, tp, fp } = countsOf(given);
    const negatives = population - positives;
    if (Number.isNaN(fp)) return capacities.map(() => null);
    const found = Pvf.plausibleShares(tp, positives, parts).map((share) => share * positives);
    const wrong = known === "rank" ? [0]
      : Pvf.plausibleShares(Math.min(fp, negatives), negatives, parts).map((share) => share * negatives);
    return capacities.map((capacity) => {
      const places = capacity * population;
      const values = Float64Array.from(found.flatMap((t) => wrong.map((f) => (known === "rank"
        ? Math.min(t, places) / (capacity * positives)
        : Pvf.efficiency(t, f, positives, negatives, capacity))))).sort();
      const { ie } = resultOf({ ...given, capacity });
      // Each value is the middle of its part: the first of n stands for a share of 0.5 / n.
      const n = values.length;
      const middle = (share) => Pvf.quantile(values, (n * share - 0.5) / (n - 1));
      return [Math.min(middle(0.025), ie), Math.max(middle(0.975), ie)];
    });
  }

  /* pvf.intervention_efficiency */
  function fromRatios({ population, positives, capacity, precision, recall }) {
    const prevalence = positives / population;
    const wanted = (prevalence * recall) / precision;
    const share = Math.min(capacity, wanted);
    const rest = share < 1
      ? ((capacity - share) * (prevalence - share * precision)) / (1 - share) : 0;
    let ie = (share * precision + rest) / (capacity * prevalence);
    if (capacity === 1) ie = 1;
    const undefinedRatio = precision === 0 && recall === 0;
    if (undefinedRatio && capacity < 1) ie = NaN;
    return {
      ie, prevalence, share, room: capacity * population,
      flagged: undefinedRatio ? NaN : wanted * population, whole: wanted >= 1 - 1e-9,
    };
  }

  function regimeOf({ capacity }, { flagged, room, whole }) {
    if (capacity === 1) return "everybody treated";
    if (known === "rank") return "by rank";
    if (Number.isNaN(flagged)) return "unknown";
    if (flagged === 0) return "nobody flagged";
    if (whole) return "everybody flagged";
    return flagged > room ? "scarce" : "ample";
  }

  const EXPLAINED = {
    "everybody treated": () => "Everybody is treated, so no model can make a difference.",
    "by rank": ({ room }) => `By rank: the ${people(room)} with the highest scores ` +
      `${room === 1 ? "is" : "are"} treated.`,
    unknown: () => "Precision and recall of 0 don’t tell whether the model flagged nobody or only " +
      "people without the condition. Enter counts instead.",
    "nobody flagged": () => "Nobody is flagged, so all interventions are spent at random.",
    "everybody flagged": () => "Everybody is flagged, so the flags say nothing.",
    scarce: ({ flagged, room }) => `Scarce: ${people(flagged)} flagged, room for ${short(room)}. ` +
      "Those treated are drawn from the flagged.",
    ample: ({ flagged, room }) => `Ample: ${people(flagged)} flagged, room for ${short(room)}. ` +
      "All flagged are treated, and what is left is spent at random.",
  };

  function people(count) {
    return `${short(count)} ${count === 1 ? "person" : "people"}`;
  }

  function cases(count) {
    return `${short(count)} ${count === 1 ? "case" : "cases"}`;
  }

  /* The formula, as it stands on the page on methods, and again with the reader's numbers. */
  function formulaOf(given, result) {
    const n = (value) => short(value).replace(/e([+-]?)(\d+)$/, (_, sign, power) =>
      `\\cdot 10^{${sign === "-" ? "-" : ""}${power}}`);
    const { population, positives, capacity } = given;
    const regime = regimeOf(given, result);
    if (regime === "by rank") {
      return ["\\mathrm{IE}_\\gamma = \\frac{TP}{\\gamma\\alpha} = " +
        `\\frac{${n(given.hits)}}{${n(capacity)} \\cdot ${n(positives)}} \\approx ${n(result.ie)}`];
    }
    if (!["scarce", "ample"].includes(regime)) {
      return Number.isNaN(result.ie) ? [] : ["\\mathrm{IE}_\\gamma = 1"];
    }
    const equals = ` \\approx ${n(result.ie)}`;
    if (known === "ratios") {
      const { precision, recall } = given;
      const { prevalence, share } = result;
      const [s, p, g, pi] = [share, precision, capacity, prevalence].map(n);
      return [
        `\\pi = \\frac{\\alpha}{\\beta} = \\frac{${n(positives)}}{${n(population)}} \\approx ${pi}`,
        "s = \\min\\left(\\gamma, \\frac{\\pi r}{p}\\right) = " +
          `\\min\\left(${g}, \\frac{${pi} \\cdot ${n(recall)}}{${p}}\\right) \\approx ${s}`,
        "\\mathrm{IE}_\\gamma = \\frac{s p + (\\gamma - s)\\,\\frac{\\pi - s p}{1 - s}}{\\gamma \\pi}",
        `\\phantom{\\mathrm{IE}_\\gamma} = \\frac{${s} \\cdot ${p} + (${g} - ${s})\\,` +
          `\\frac{${pi} - ${s} \\cdot ${p}}{1 - ${s}}}{${g} \\cdot ${pi}}${equals}`,
      ];
    }
    const { tp, fp } = given;
    if (regime === "scarce") {
      return [
        "\\mathrm{IE}_\\gamma = \\frac{p}{\\pi} = \\frac{TP\\,/\\,(TP + FP)}{\\alpha / \\beta}",
        `\\phantom{\\mathrm{IE}_\\gamma} = \\frac{${n(tp)}\\,/\\,(${n(tp)} + ${n(fp)})}` +
          `{${n(positives)} / ${n(population)}}${equals}`,
      ];
    }
    return [
      "\\mathrm{IE}_\\gamma = \\frac{TP + (\\gamma\\beta - F)\\,\\frac{\\alpha - TP}{\\beta - F}}" +
        "{\\gamma\\alpha}, \\qquad F = TP + FP",
      `\\phantom{\\mathrm{IE}_\\gamma} = \\frac{${n(tp)} + (${n(result.room)} - ${n(result.flagged)})` +
        `\\,\\frac{${n(positives)} - ${n(tp)}}{${n(population)} - ${n(result.flagged)}}}` +
        `{${n(capacity)} \\cdot ${n(positives)}}${equals}`,
    ];
  }

  async function typeset(lines) {
    const mine = ++turn;
    const place = document.getElementById("formula");
    if (!window.MathJax?.startup) return; // the numbers stand above in any case
    await MathJax.startup.promise;
    const parts = [];
    for (const line of lines) {
      if (mine !== turn) return;
      parts.push(await MathJax.tex2chtmlPromise(line, { display: true }));
    }
    if (mine !== turn) return;
    place.replaceChildren(...parts);
    place.tabIndex = place.scrollWidth > place.clientWidth ? 0 : -1;
    MathJax.startup.document.clear();
    MathJax.startup.document.updateDocument();
  }

  function callOf(given) {
    const { population, positives, capacity } = given;
    if (known !== "ratios") {
      const { tp, fp } = countsOf(given);
      const counts = [tp, fp, positives, population - positives, capacity];
      return `pvf.intervention_efficiency_counts(${counts.join(", ")})`;
    }
    const ratios = [given.precision, given.recall, `${positives} / ${population}`, capacity];
    return `pvf.intervention_efficiency(${ratios.join(", ")})`;
  }

  function put(id, value, text) {
    const place = document.getElementById(id);
    place.value = String(value);
    place.textContent = text;
  }

  /* Told, and what takes longer computed, once the reader has stopped typing or dragging. */
  function settle(sentence, models) {
    clearTimeout(announcement);
    announcement = setTimeout(() => {
      document.getElementById("answer").textContent = sentence + tellIntervals(models);
      drawCurve(models);
      if (touched) keepInAddress();
      form.dataset.settled = "yes";
    }, 250);
  }

  function tellIntervals(models) {
    return models.map((given, m) => {
      const [range] = intervalsOf(given, [given.capacity], 200);
      const text = range ? `${short(range[0], 3)} to ${short(range[1], 3)}` : "–";
      put(`interval${m ? "2" : ""}`, range ? range.join(" ") : "", text);
      return range ? ` 95% interval of ${m ? "the second" : "IE"}: ${text}.` : "";
    }).join("");
  }

  /* IE over capacity; by rank the cases are known at one capacity only. */
  function drawCurve(models) {
    const svg = document.getElementById("curve");
    svg.toggleAttribute("hidden", models.length === 0);
    if (models.length === 0) return;
    const { population, positives, capacity } = models[0];
    const capacities = Array.from({ length: 50 }, (_, i) => (i + 1) / 50);
    const lines = models.map((given) => ({
      values: capacities.map((g) => resultOf({ ...given, capacity: g }).ie),
      ranges: intervalsOf(given, known === "rank" ? [capacity] : capacities, 40),
      now: resultOf(given).ie,
    }));
    const highest = Math.max(1.5, ...lines.flatMap(({ now, ranges }) =>
      [now || 0, ...ranges.map((range) => (range ? range[1] : 0))])) * 1.08;
    const plot = Pvf.axes(svg, {
      x: [0, 1], y: [0, highest], height: 240, labels: { x: "capacity γ", y: "IE" },
      ticks: { x: [0, 0.25, 0.5, 0.75, 1], y: Pvf.roundTicks(0, highest) },
    });
    const limited = Array.from({ length: 200 }, (_, i) => (i + 1) / 200)
      .map((g) => [g, Math.min(1 / g, population / positives)]).filter(([, v]) => v <= highest);
    plot.line(limited.map(([g]) => g), limited.map(([, v]) => v), "limit");
    plot.line([0, 1], [1, 1], "chance");
    plot.line([capacity, capacity], [0, highest], "now");
    lines.forEach(({ values, ranges, now }, m) => {
      const name = m ? "other" : "first";
      if (Number.isNaN(now) || ranges[0] === null) return;
      if (known === "rank") {
        plot.line([capacity, capacity], ranges[0], name);
      } else {
        const there = [...capacities, ...[...capacities].reverse()];
        const band = [...ranges.map((range) => range[0]), ...ranges.map((range) => range[1]).reverse()];
        plot.line(there, band, `band ${name}`);
        plot.line(capacities, values, name);
      }
      plot.add("circle", { class: name, cx: plot.across(capacity), cy: plot.up(now), r: 5 });
    });
  }

  /* The address holds all that was typed, so that it can be kept or sent. */
  function keepInAddress() {
    const names = [...PEOPLE, ...suffixes().flatMap((end) => NAMES[known].map((name) => name + end))];
    const inputs = names.map((name) => [name, fields.get(name).number.value]);
    if (suffixes().length > 1) inputs.push(["second", "yes"]);
    history.replaceState(null, "", `#${new URLSearchParams([["known", known], ...inputs])}`);
  }

  function readAddress() {
    const inputs = new URLSearchParams(location.hash.slice(1));
    if (!(inputs.get("known") in NAMES)) return;
    form.elements.known.value = inputs.get("known");
    document.getElementById("second").checked = inputs.has("second");
    fields.forEach((field, name) => {
      if (inputs.has(name)) field.number.value = inputs.get(name);
    });
  }

  function update() {
    delete form.dataset.settled;
    const [population, positives, capacity] = PEOPLE.map((name) => fields.get(name).parsed());
    const ends = { positives: population, tp: positives, fp: population - positives,
      hits: Math.floor(Math.min(positives, capacity * population)) };
    fields.forEach((field, name) => field.endAt(ends[name.replace("2", "")] ?? Number(field.slider.max)));
    const models = readAll();
    if (models === null) {
      const wrong = [...fields.values()].map((field) => field.error.textContent).filter(Boolean);
      ["ie", "interval", "by-model", "by-chance", "regime", "ie2", "interval2", "by-model2"].forEach(
        (id) => put(id, "", "–"));
      document.getElementById("call").textContent = "";
      typeset([]);
      settle(`No result. ${wrong.join(" ")}`, []);
      return;
    }
    const chance = capacity * positives;
    const results = models.map(resultOf);
    results.forEach(({ ie }, m) => {
      const end = m ? "2" : "";
      const defined = !Number.isNaN(ie);
      put(`ie${end}`, defined ? ie : "", defined ? short(ie) : "no value");
      put(`by-model${end}`, defined ? ie * chance : "", defined ? short(ie * chance) : "no value");
      put(`interval${end}`, "", "…");
    });
    const regime = regimeOf(models[0], results[0]);
    put("by-chance", chance, short(chance));
    put("regime", regime, regime);
    document.getElementById("call").textContent = callOf(models[0]);
    typeset(formulaOf(models[0], results[0]));
    const [first, second] = results.map(({ ie }) => ie * chance);
    const answer = Number.isNaN(first) ? ""
      : `The model reaches ${short(first)} of ${cases(positives)} on average, ` +
        `chance ${short(chance)}: ${short(results[0].ie)} times as many. `;
    settle(answer + EXPLAINED[regime](results[0]) + compare(first, second), models);
  }

  function compare(first, second) {
    const more = second - first;
    if (Number.isNaN(more)) return "";
    if (Math.abs(more) < 1e-9) return " The second model reaches as many.";
    return ` The second model reaches ${short(Math.abs(more))} ${more > 0 ? "more" : "fewer"}.`;
  }

  function switchTo(choice) {
    known = choice;
    form.querySelectorAll("[data-known]").forEach((group) => {
      group.hidden = group.dataset.known !== known;
    });
    form.querySelectorAll("[data-second]").forEach((group) => {
      group.hidden = suffixes().length < 2;
    });
    update();
  }

  form.querySelectorAll(".field").forEach((box) => new Field(box));
  form.querySelectorAll("[name=known], #second").forEach((choice) => {
    choice.addEventListener("change", () => {
      touched = true;
      switchTo(form.elements.known.value);
    });
  });
  window.addEventListener("hashchange", () => { readAddress(); switchTo(form.elements.known.value); });
  Pvf.open(form, update);
  // A browser that goes back to the page fills in what was there before.
  window.addEventListener("pageshow", () => {
    readAddress();
    switchTo(form.elements.known.value);
  });
})();
