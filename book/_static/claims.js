/* The ledger's table: sort, filter and search. Without this script all of it stands there as text. */
(() => {
  "use strict";

  const normal = (text) => text.toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f]/g, "");

  const setUp = (claims) => {
    const form = claims.querySelector(".claims-controls");
    const body = claims.querySelector("tbody");
    const rows = [...body.rows];
    const verdicts = new Set(rows.map((row) => row.dataset.verdict));
    const texts = new Map(rows.map((row) => [row, normal(`${row.textContent} ${row.dataset.words}`)]));

    const show = () => {
      const words = normal(form.words.value).split(/\s+/).filter(Boolean);
      const typed = form.words.value.trim().toLowerCase();
      let shown = 0;
      for (const row of rows) {
        const fits =
          words.every((word) => texts.get(row).includes(word)) &&
          // "reproduced" is a verdict, and no part of "not reproduced"
          (!verdicts.has(typed) || row.dataset.verdict === typed) &&
          (!form.verdict.value || row.dataset.verdict === form.verdict.value) &&
          (!form.paper.value || row.dataset.paper === form.paper.value);
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      }
      form.querySelector("output").textContent = `${shown} of ${rows.length} claims`;
      const kept = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
      const address = kept.size ? `?${kept}` : location.pathname;
      history.replaceState(null, "", `${address}${location.hash}`);
    };

    const sort = (heading) => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[heading.cellIndex].dataset.sort;
      const order = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
      const sorted = [...rows].sort((a, b) => (down ? order(b, a) : order(a, b)));
      body.append(...sorted);
    };

    for (const button of claims.querySelectorAll("thead button")) {
      button.disabled = false;
      button.addEventListener("click", () => sort(button.closest("th")));
    }
    form.addEventListener("input", show);
    form.addEventListener("reset", () => setTimeout(show));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    for (const [name, value] of new URLSearchParams(location.search)) {
      if (form.elements[name]) form.elements[name].value = value;
    }
    show(); // a browser may have kept what was typed before
  };

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".claims").forEach(setUp);
  });
})();
