"use strict";
// A table is sorted by a column when its heading is pressed, and the other way round when it is pressed again.
const number = (text) => {
  const found = text.replace(/,/g, "").match(/^[+-]?\d+(\.\d+)?/);
  return found ? Number(found[0]) : null;
};
for (const table of document.querySelectorAll("table.sorted")) {
  const body = table.tBodies[0];
  table.querySelectorAll("thead button").forEach((button, column) => {
    button.addEventListener("click", () => {
      const heading = button.parentElement;
      const down = heading.getAttribute("aria-sort") === "descending";
      const sign = down ? 1 : -1;
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "ascending" : "descending");
      const rows = Array.from(body.rows).map((row) => [row, row.cells[column].textContent.trim()]);
      rows.sort(([, one], [, other]) => {
        const a = number(one), b = number(other);
        if (a === null || b === null) return a === b ? sign * one.localeCompare(other) : a === null ? 1 : -1;
        return sign * (a - b);
      });
      body.append(...rows.map(([row]) => row));
    });
  });
}
for (const button of document.querySelectorAll("button.all")) {
  button.addEventListener("click", () => {
    const found = button.closest("section").querySelectorAll("details.query");
    const open = !Array.from(found).every((each) => each.open);
    found.forEach((each) => { each.open = open; });
  });
}
// A row and a query are shown if their name contains what is typed.
const named = Array.from(document.querySelectorAll("table.sorted tbody tr, details.query"),
  (each) => [each, (each.querySelector(".name") ?? each.cells[0]).textContent.toLowerCase()]);
document.querySelector("input").addEventListener("input", (typed) => {
  const text = typed.target.value.trim().toLowerCase();
  for (const [each, name] of named) each.hidden = !name.includes(text);
  const found = named.filter(([each]) => !each.hidden).length;
  document.querySelector("[role=status]").textContent = text ? `${found} of ${named.length} rows and queries` : "";
});
// A link to a query opens it.
const openTarget = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target?.matches("details")) target.open = true;
};
addEventListener("hashchange", openTarget);
openTarget();
