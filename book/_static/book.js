/* Search summaries are fetched pages, which browsers refuse when the book is opened from disk. */
if (window.location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

/* A link into a fold opens it, and paper shows all of them. */
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
window.addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
});

/* A figure that scrolls can be reached by the keyboard, as the theme has it for other outputs. */
function reachFigures() {
  for (const output of document.querySelectorAll(".cell_output figure .output"))
    output.tabIndex = output.scrollWidth > output.clientWidth ? 0 : -1;
}
for (const event of ["load", "resize"]) window.addEventListener(event, reachFigures);
