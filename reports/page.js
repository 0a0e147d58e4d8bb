"use strict";
// Shows the requirements that somebody looks for. Without it the page has all of them.
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const search = document.getElementById("search"), level = document.getElementById("level"), shown = document.getElementById("shown");
  const items = [...document.querySelectorAll("[data-verdict]")].map((e) => ({ e, row: e.localName === "tr", text: e.textContent.toLowerCase() }));
  const groups = [...document.querySelectorAll("[data-group]")];
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    const verdicts = new Set([...form.querySelectorAll("[name=verdict]:checked")].map((e) => e.value));
    let rows = 0, all = 0;
    for (const { e, row, text } of items) {
      e.hidden = !verdicts.has(e.dataset.verdict) || (level.value !== "" && level.value !== e.dataset.level) || !words.every((w) => text.includes(w));
      if (row) { all++; rows += !e.hidden; }
    }
    for (const g of groups) g.hidden = !g.querySelector("[data-verdict]:not([hidden])");
    shown.value = `${rows} of ${all} requirements`;
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
  form.addEventListener("input", apply);
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
