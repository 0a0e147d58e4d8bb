"use strict";
// Shows the requirements that somebody looks for, keeps that in the address, and copies commands. Without it the page has all
// requirements in their chapters.
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const search = document.getElementById("search"), level = document.getElementById("level"), shown = document.getElementById("shown");
  const boxes = [...form.querySelectorAll("[name=verdict]")], subjects = [...document.querySelectorAll("[name=only]")];
  // A result that is told in full above all others is searched and shown there and in its chapter as one.
  const items = [...document.querySelectorAll(".results tr[id]")].map((row) => {
    const problem = document.getElementById(`problem-${row.id}`);
    return { row, problem, text: `${row.textContent} ${problem ? problem.textContent : ""}`.toLowerCase() };
  });
  const groups = [...document.querySelectorAll("[data-group]")], chapters = groups.filter((g) => g.localName === "details");
  const only = () => subjects.find((e) => e.checked && e.id); // none for everything

  // The address is #ANCHOR?FILTERS. Both may be absent. It is no query, since addresses of files cannot get another one.
  const address = () => {
    const [to, ...filters] = location.hash.slice(1).split("?");
    let id = to;
    try { id = decodeURIComponent(to); } catch { /* it is no address of ours */ }
    // Without a definition, an address leads to the first that there is.
    const place = id && (document.getElementById(id) ?? document.querySelector(`[id^="${CSS.escape(id)}@"]`));
    return { to, place, problem: place && document.getElementById(`problem-${place.id}`), filters: new URLSearchParams(filters.join("?")) };
  };
  const chosen = () => {
    const filters = new URLSearchParams(), hidden = boxes.filter((e) => !e.checked).map((e) => e.value);
    if (search.value.trim()) filters.set("q", search.value.trim());
    if (level.value) filters.set("level", level.value);
    if (hidden.length) filters.set("hide", hidden.join(" "));
    return filters;
  };
  let saving;
  const save = () => { // after a while, as browsers refuse what changes with every letter
    clearTimeout(saving);
    saving = setTimeout(() => {
      const filters = chosen(), subject = only();
      if (subject) filters.set("only", subject.value);
      const { to, place } = address();
      const hash = (place && place.closest("[hidden]") ? "" : to) + (`${filters}` && `?${filters}`);
      if (location.hash.slice(1) === hash) return;
      try { history.replaceState(null, "", `#${hash}`); } catch { /* where pages have no address, filters need none */ }
    }, 300);
  };
  const restore = () => {
    const { filters } = address();
    if (!`${filters}`) return;
    const hidden = (filters.get("hide") ?? "").split(" ");
    search.value = filters.get("q") ?? "";
    level.value = filters.get("level") ?? "";
    for (const e of boxes) e.checked = !hidden.includes(e.value);
    for (const e of subjects) e.checked = e.id ? e.value === filters.get("only") : !filters.get("only");
  };

  let narrowed = false;
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    const verdicts = new Set(boxes.filter((e) => e.checked).map((e) => e.value));
    const subject = only()?.id.replace("only", "of") ?? "";
    let rows = 0;
    for (const { row, problem, text } of items) {
      row.hidden = !verdicts.has(row.dataset.verdict ?? "passed") || (level.value !== "" && level.value !== (row.dataset.level ?? "MUST")) ||
        (subject !== "" && !row.closest(".of").classList.contains(subject)) || !words.every((w) => text.includes(w));
      if (problem) problem.hidden = row.hidden;
      rows += !row.hidden;
    }
    for (const g of groups) g.hidden = !g.querySelector(".results tr[id]:not([hidden]), .problem:not([hidden])");
    // What is found is to be seen, and folded again when nothing is looked for any more.
    const narrow = `${chosen()}` !== "";
    if (narrow || narrowed) for (const c of chapters) c.open = narrow && !c.hidden;
    narrowed = narrow;
    shown.value = `${rows} of ${items.length} requirements`;
    save();
  };
  const stand = () => { // what a link leads to is not to be behind the form, where that stays in view
    document.documentElement.style.scrollPaddingTop = getComputedStyle(form).position === "sticky" ? `${form.offsetHeight}px` : "";
  };
  const reveal = () => {
    const { place, problem } = address();
    if (!place) return;
    if (place.closest("[hidden]")) { form.reset(); apply(); }
    for (const e of [place, problem]) {
      for (let fold = e?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    }
    if (place.localName === "tr") for (const fold of place.querySelectorAll(".text > details")) fold.open = true;
    stand(); // the page may have another width now
    (problem ?? place).scrollIntoView(); // where it is told in full
  };
  // A page in a file has no permission for the clipboard everywhere, so the text is selected first, and stays so if nothing else works.
  const copy = async (button) => {
    const text = button.parentElement.querySelector("pre");
    getSelection().selectAllChildren(text);
    let copied = document.execCommand("copy");
    if (!copied) copied = await navigator.clipboard?.writeText(text.textContent).then(() => true, () => false);
    button.textContent = copied ? "copied" : "selected: press Ctrl+C";
    setTimeout(() => { button.textContent = "copy"; }, 3000);
  };

  addEventListener("input", apply); // what chooses a subject is the form's, and not in it
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  addEventListener("hashchange", () => { restore(); apply(); reveal(); });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, select")) { event.preventDefault(); search.focus(); }
  });
  addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.matches(".copy")) copy(button);
    if (button && "fold" in button.dataset) for (const e of document.querySelectorAll("details")) e.open = button.dataset.fold !== "";
  });
  addEventListener("resize", stand);
  for (const e of document.querySelectorAll(".copy")) e.hidden = false;
  form.hidden = false;
  restore();
  apply();
  stand();
  reveal();
})();
