/* Search summaries are fetched pages, which browsers refuse when the book is opened from disk. */
if (window.location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}
