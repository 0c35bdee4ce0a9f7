/* The ledger's table: sort, filter and search. Without this script all of it stands there as text. */
(() => {
  "use strict";

  const normal = (text) => text.toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f]/g, "");

  const setUp = (claims) => {
    const form = claims.querySelector(".claims-controls");
    const body = claims.querySelector("tbody");
    const rows = [...body.rows];
    const texts = new Map(rows.map((row) => [row, normal(row.textContent)]));

    const show = () => {
      const words = normal(form.words.value).split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const fits =
          words.every((word) => texts.get(row).includes(word)) &&
          (!form.verdict.value || row.dataset.verdict === form.verdict.value) &&
          (!form.paper.value || row.dataset.paper === form.paper.value);
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      }
      form.querySelector("output").textContent = `${shown} of ${rows.length} claims`;
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
    show(); // a browser may have kept what was typed before
  };

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".claims").forEach(setUp);
  });
})();
