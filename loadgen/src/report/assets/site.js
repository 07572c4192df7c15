// The search of a site of results.
"use strict";

const search = document.getElementById("search");
search?.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/);
  for (const row of document.querySelectorAll("[data-text]")) {
    const text = row.dataset.text.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
});
