// Clicking a heading sorts the table by its column; clicking it again reverses the order.

// The number in a cell, unrounded if the cell has it; null for text.
const number = (cell) => {
  const text = cell.dataset.v ?? cell.textContent.trim().replace(/,/g, "");
  if (text === "" || Number.isNaN(Number(text))) return null;
  return Number(text);
};
// Numbers by value, then texts by name, which are always below the numbers. `sign`: 1 ascending, -1 descending.
const compare = (one, other, sign) => {
  const a = number(one), b = number(other);
  if (a === null && b === null) return sign * one.textContent.localeCompare(other.textContent);
  if (a === null) return 1;
  if (b === null) return -1;
  return sign * (a - b);
};
for (const table of document.querySelectorAll("table.sorted")) {
  const body = table.tBodies[0];
  table.querySelectorAll("thead th").forEach((th, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...th.childNodes);
    th.append(button);
    button.addEventListener("click", () => {
      const heading = button.parentElement;
      const wasDescending = heading.getAttribute("aria-sort") === "descending";
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", wasDescending ? "ascending" : "descending");
      const sign = wasDescending ? 1 : -1;
      const rows = Array.from(body.rows);
      rows.sort((one, other) => compare(one.cells[column], other.cells[column], sign));
      body.append(...rows);
    });
  });
}
// A query is shown if its name contains the typed text.
for (const input of document.querySelectorAll("input[type=search]")) {
  const part = input.closest(".part");
  // Rows of the table of queries, but not those of their documents, and the folded documents of each query.
  const folded = Array.from(part.querySelectorAll("details.query"));
  const rows = Array.from(part.querySelectorAll("tbody tr")).filter((row) => !row.closest("details.query"));
  input.addEventListener("input", () => {
    const text = input.value.trim().toLowerCase();
    const isFound = (named) => named.textContent.toLowerCase().includes(text);
    for (const row of rows) row.hidden = !isFound(row.cells[0]);
    for (const query of folded) query.hidden = !isFound(query.querySelector("summary"));
    const shown = rows.filter((row) => !row.hidden).length;
    part.querySelector("[role=status]").textContent = text ? `${shown} of ${rows.length} queries` : "";
  });
}
// A night is shown if it has the chosen verdict.
for (const select of document.querySelectorAll("select[data-filter=verdict]")) {
  const part = select.closest(".part");
  const rows = Array.from(part.querySelectorAll("tbody tr"));
  select.addEventListener("change", () => {
    for (const row of rows) {
      const verdict = row.querySelector("[data-verdict]").dataset.verdict;
      row.hidden = select.value !== "" && verdict !== select.value;
    }
    const shown = rows.filter((row) => !row.hidden).length;
    part.querySelector("[role=status]").textContent = select.value ? `${shown} of ${rows.length} nights` : "";
  });
}
// Following a link opens the folded parts around its target.
const reveal = () => {
  let element = document.getElementById(location.hash.slice(1));
  while (element) {
    if (element.matches("details")) element.open = true;
    element = element.parentElement;
  }
};
addEventListener("hashchange", reveal);
reveal();
