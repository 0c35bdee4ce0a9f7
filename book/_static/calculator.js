/* The calculator of Intervention Efficiency. What it computes is what pvf/metrics.py computes, in
   the same order of operations; a test drives the page and compares the two. */
"use strict";

(() => {
  const form = document.getElementById("calculator");
  const fields = new Map();
  let known = "counts";
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
        type: "number", id: name, name, min: minimum, step: "any", value,
        inputMode: this.whole ? "numeric" : "decimal", autocomplete: "off", required: true,
      });
      this.number.setAttribute("aria-describedby", `${name}-hint ${name}-error`);
      this.slider = element("input", { type: "range", min: minimum, max: end, step: step ?? "1", value });
      this.slider.setAttribute("aria-label", `${label}, slider`);
      this.error = element("span", { className: "error", id: `${name}-error` });
      box.prepend(element("label", { htmlFor: name, textContent: label }), this.number, this.slider);
      box.append(this.error);
      this.number.addEventListener("input", () => { this.slider.value = this.number.value; update(); });
      this.slider.addEventListener("input", () => { this.number.value = this.slider.value; update(); });
      fields.set(name, this);
    }

    /* Its number, or NaN after saying what is wrong with it. */
    read() {
      const typed = this.number.value.trim();
      const value = typed === "" ? NaN : Number(typed);
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
      if (!(end >= this.minimum)) return;
      this.slider.max = end;
      this.slider.value = this.number.value;
    }
  }

  function element(tag, properties) {
    return Object.assign(document.createElement(tag), properties);
  }

  /* All numbers, or null if one of them is impossible; each impossible one says so itself. */
  function readAll() {
    fields.forEach((field) => field.accept());
    const shown = ["population", "positives", "capacity"];
    shown.push(...(known === "counts" ? ["tp", "fp"] : ["precision", "recall"]));
    const given = Object.fromEntries(shown.map((name) => [name, fields.get(name).read()]));
    refuseImpossiblePeople(given);
    if (known === "counts") refuseImpossibleCounts(given);
    else refuseImpossibleRatios(given);
    return shown.some((name) => fields.get(name).error.textContent) ? null : given;
  }

  function refuseImpossiblePeople({ population, positives, capacity }) {
    if (positives === 0) {
      fields.get("positives").refuse("must be at least 1: with nobody to reach, IE has no value");
    } else if (positives > population) {
      fields.get("positives").refuse(`can’t exceed the population, ${short(population)}`);
    }
    if (capacity <= 0 || capacity > 1) fields.get("capacity").refuse("must be above 0 and at most 1");
  }

  function refuseImpossibleCounts({ population, positives, tp, fp }) {
    if (tp > positives) fields.get("tp").refuse(`can’t exceed the positives, ${short(positives)}`);
    const negatives = population - positives;
    if (negatives >= 0 && fp > negatives) {
      fields.get("fp").refuse(`can’t exceed those who are not positive, ${short(negatives)}`);
    }
  }

  function refuseImpossibleRatios({ population, positives, precision, recall }) {
    if (precision > 1) fields.get("precision").refuse("can’t exceed 1");
    if (recall > 1) fields.get("recall").refuse("can’t exceed 1");
    if (precision > 0 && recall === 0) {
      fields.get("recall").refuse("can’t be 0 if the precision is not: some flags are right");
    }
    if (precision === 0 && recall > 0) {
      fields.get("precision").refuse("can’t be 0 if the recall is not: some flags are right");
    }
    const found = recall * positives;
    const least = found / (found + population - positives);
    if (precision > 0 && precision <= 1 && recall <= 1 && precision < least * (1 - 1e-9)) {
      fields.get("precision").refuse(
        `can’t be below ${short(least)} here: the model would flag more people than there are`);
    }
  }

  /* pvf.intervention_efficiency_counts */
  function fromCounts({ population, positives, capacity, tp, fp }) {
    const flagged = tp + fp;
    const room = capacity * population;
    let ie;
    if (flagged === 0 || flagged === population || capacity === 1) ie = 1;
    else if (flagged > room) ie = (tp * population) / (flagged * positives);
    else {
      const byChance = ((room - flagged) * (positives - tp)) / (population - flagged);
      ie = (tp + byChance) / (capacity * positives);
    }
    return { ie, flagged, room, whole: flagged === population };
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
    if (Number.isNaN(flagged)) return "unknown";
    if (flagged === 0) return "nobody flagged";
    if (whole) return "everybody flagged";
    return flagged > room ? "scarce" : "ample";
  }

  const EXPLAINED = {
    "everybody treated": () => "Everybody is treated, so no model can make a difference.",
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

  function short(value) {
    return String(Number(value.toPrecision(4)));
  }

  /* The formula, as it stands on the page on methods, and again with the reader's numbers. */
  function formulaOf(given, result) {
    const n = (value) => short(value).replace(/e([+-]?)(\d+)$/, (_, sign, power) =>
      `\\cdot 10^{${sign === "-" ? "-" : ""}${power}}`);
    const { population, positives, capacity } = given;
    const regime = regimeOf(given, result);
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
    if (known === "counts") {
      const counts = [given.tp, given.fp, positives, population - positives, capacity];
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

  /* Told once the reader has stopped typing or dragging, so that a screen reader isn't flooded. */
  function announce(sentence) {
    clearTimeout(announcement);
    announcement = setTimeout(() => {
      document.getElementById("answer").textContent = sentence;
      form.dataset.settled = "yes";
    }, 250);
  }

  function update() {
    delete form.dataset.settled;
    const [population, positives] = ["population", "positives"].map((name) =>
      Number(fields.get(name).number.value));
    fields.get("positives").endAt(population);
    fields.get("tp").endAt(positives);
    fields.get("fp").endAt(population - positives);
    const given = readAll();
    if (given === null) {
      const wrong = [...fields.values()].map((field) => field.error.textContent).filter(Boolean);
      ["ie", "by-model", "by-chance", "regime"].forEach((id) => put(id, "", "–"));
      document.getElementById("call").textContent = "";
      typeset([]);
      announce(`No result. ${wrong.join(" ")}`);
      return;
    }
    const result = known === "counts" ? fromCounts(given) : fromRatios(given);
    const regime = regimeOf(given, result);
    const chance = given.capacity * given.positives;
    const byModel = result.ie * chance;
    const defined = !Number.isNaN(result.ie);
    put("ie", defined ? result.ie : "", defined ? short(result.ie) : "no value");
    put("by-model", defined ? byModel : "", defined ? short(byModel) : "no value");
    put("by-chance", chance, short(chance));
    put("regime", regime, regime);
    document.getElementById("call").textContent = callOf(given);
    typeset(formulaOf(given, result));
    const answer = defined
      ? `The model reaches ${short(byModel)} of ${cases(given.positives)} on average, ` +
        `chance ${short(chance)}: ${short(result.ie)} times as many. ` : "";
    announce(answer + EXPLAINED[regime](result));
  }

  function switchTo(choice) {
    known = choice;
    form.querySelectorAll("[data-known]").forEach((group) => {
      group.hidden = group.dataset.known !== known;
    });
    update();
  }

  form.querySelectorAll(".field").forEach((box) => new Field(box));
  form.querySelectorAll("[name=known]").forEach((radio) => {
    radio.addEventListener("change", () => switchTo(radio.value));
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  // A browser that goes back to the page fills in what was there before.
  window.addEventListener("pageshow", () => switchTo(form.elements.known.value));
})();
