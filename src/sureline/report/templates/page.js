"use strict";
// Without this script the table is in the order of its rows, and everything else is as it is.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], headings = [...table.tHead.rows[0].cells];
  const valueOf = (row, k) => {
    const cell = row.cells[k], sort = cell.dataset.sort;
    if (sort === undefined) return headings[k].classList.contains("num") ? null : cell.textContent.trim().toLowerCase();
    return sort !== "" && Number.isFinite(+sort) ? +sort : sort;
  };
  headings.forEach((heading, k) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row, i) => ({ row, i, value: valueOf(row, k) }));
      rows.sort((a, b) => {
        if (a.value === null || b.value === null) return (a.value === null) - (b.value === null) || a.i - b.i;
        const order = typeof a.value === "number" && typeof b.value === "number"
          ? a.value - b.value : String(a.value).localeCompare(String(b.value), "en", { numeric: true });
        return (down ? -order : order) || a.i - b.i;
      });
      body.append(...rows.map((entry) => entry.row));
    });
  });
}
// One run stands out in all charts, legends and tables: the one under the pointer or the focus, else the one that was
// chosen by a click, which Escape takes back.
const views = [];
let chosen = null, shown = null;
const point = (key) => {
  key ??= chosen;
  if (key === shown) return;
  shown = key;
  for (const it of document.querySelectorAll("[data-key]")) it.classList.toggle("on", it.dataset.key === key);
  for (const view of views) view.signal("key", key).runAsync();
};
const choose = (key) => {
  chosen = key === chosen ? null : key;
  for (const it of document.querySelectorAll(".legend button"))
    it.setAttribute("aria-pressed", it.parentElement.dataset.key === chosen);
  point(null);
};
for (const entry of document.querySelectorAll(".legend [data-key]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-pressed", false);
  button.append(...entry.childNodes);
  entry.append(button);
  button.addEventListener("click", () => choose(entry.dataset.key));
}
// One listener for all: a row that listens for the focus would be one more stop for the Tab key.
for (const event of ["pointerover", "focusin"])
  document.addEventListener(event, ({ target }) => {
    if (!target.closest(".plot svg")) point(target.closest("[data-key]")?.dataset.key ?? null);
  });
for (const event of ["pointerleave", "focusout"]) document.documentElement.addEventListener(event, () => point(null));
addEventListener("keydown", ({ key }) => { if (key === "Escape" && chosen !== null) choose(chosen); });
// A link to something folded unfolds it; paper shows everything.
const unfold = () => {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  for (let it = target; it; it = it.parentElement) if (it.tagName === "DETAILS") it.open = true;
};
addEventListener("hashchange", unfold);
unfold();
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const it of folded) it.open = true;
});
addEventListener("afterprint", () => { for (const it of folded) it.open = false; });
