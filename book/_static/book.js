/* Search summaries are fetched pages, which browsers refuse when the book is opened from disk. */
if (window.location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

/* A link into a fold opens it, and paper shows all of them, but no longer than it takes to print. */
function openFold() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const fold =
    target &&
    (target.closest("details.fold") ||
      target.closest("section").querySelector(":scope > details.fold"));
  if (fold && !fold.open) {
    fold.open = true;
    target.scrollIntoView();
  }
}
window.addEventListener("hashchange", openFold);
window.addEventListener("DOMContentLoaded", openFold);
let closed = [];
window.addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const fold of closed) fold.open = true;
});
window.addEventListener("afterprint", () => {
  for (const fold of closed) fold.open = false;
});

/* A figure that scrolls can be reached by the keyboard, as the theme has it for other outputs. */
function reachFigures() {
  for (const output of document.querySelectorAll(".cell_output figure .output"))
    output.tabIndex = output.scrollWidth > output.clientWidth ? 0 : -1;
}
for (const event of ["load", "resize"]) window.addEventListener(event, reachFigures);
