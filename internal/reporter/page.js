"use strict";
// Shows the requirements that somebody looks for. Without it the page has all of them.
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const search = document.getElementById("search"), level = document.getElementById("level"), shown = document.getElementById("shown");
  // A result that is told in full above all others is searched and shown there and in its chapter as one.
  const items = [...document.querySelectorAll("tr[data-verdict]")].map((row) => {
    const problem = document.getElementById(`problem-${row.id}`);
    return { row, problem, text: `${row.textContent} ${problem ? problem.textContent : ""}`.toLowerCase() };
  });
  const groups = [...document.querySelectorAll("[data-group]")];
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    const verdicts = new Set([...form.querySelectorAll("[name=verdict]:checked")].map((e) => e.value));
    const only = document.querySelector("[name=only]:checked"), subject = only ? only.id.replace("only", "of") : ""; // none for everything
    let rows = 0;
    for (const { row, problem, text } of items) {
      row.hidden = !verdicts.has(row.dataset.verdict) || (level.value !== "" && level.value !== row.dataset.level) ||
        (subject !== "" && !row.closest(".of").classList.contains(subject)) || !words.every((w) => text.includes(w));
      if (problem) problem.hidden = row.hidden;
      rows += !row.hidden;
    }
    for (const g of groups) g.hidden = !g.querySelector("[data-verdict]:not([hidden])");
    shown.value = `${rows} of ${items.length} requirements`;
  };
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.closest("[hidden]")) { form.reset(); apply(); }
    if (target.localName === "details") target.open = true;
    target.scrollIntoView();
  };
  const stand = () => { // what a link leads to is not to be behind the form, where that stays in view
    document.documentElement.style.scrollPaddingTop = getComputedStyle(form).position === "sticky" ? `${form.offsetHeight}px` : "";
  };
  addEventListener("input", apply); // what chooses a subject is the form's, and not in it
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  addEventListener("hashchange", reveal);
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, select")) { event.preventDefault(); search.focus(); }
  });
  addEventListener("resize", stand);
  form.hidden = false;
  apply();
  stand();
  reveal();
})();
