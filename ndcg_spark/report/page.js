// Clicking a heading sorts the table by its column; clicking it again reverses the order.
const number = (cell) => {
  const text = cell.dataset.v ?? cell.textContent.trim().replace(/,/g, "");
  return text === "" || Number.isNaN(Number(text)) ? null : Number(text);
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
      const down = heading.getAttribute("aria-sort") === "descending";
      const sign = down ? 1 : -1;
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "ascending" : "descending");
      const rows = Array.from(body.rows).map((row) => [row, row.cells[column]]);
      rows.sort(([, one], [, other]) => {
        const a = number(one), b = number(other);
        if (a === null && b === null) return sign * one.textContent.localeCompare(other.textContent);
        return a === null ? 1 : b === null ? -1 : sign * (a - b);
      });
      body.append(...rows.map(([row]) => row));
    });
  });
}
// A query is shown if its name contains the typed text.
for (const input of document.querySelectorAll("input[type=search]")) {
  const part = input.closest(".part");
  const named = Array.from(part.querySelectorAll("tbody tr, details.query"))
    .filter((element) => element.matches("details") || !element.closest("details.query"))
    .map((element) => [element, (element.cells?.[0] ?? element.querySelector("summary")).textContent.toLowerCase()]);
  input.addEventListener("input", () => {
    const text = input.value.trim().toLowerCase();
    for (const [element, name] of named) element.hidden = !name.includes(text);
    const rows = named.filter(([element]) => !element.matches("details"));
    const shown = rows.filter(([element]) => !element.hidden).length;
    part.querySelector("[role=status]").textContent = text ? `${shown} of ${rows.length} queries` : "";
  });
}
// A night is shown if it has the chosen verdict.
for (const select of document.querySelectorAll("select[data-filter=verdict]")) {
  const part = select.closest(".part");
  const rows = Array.from(part.querySelectorAll("tbody tr"));
  select.addEventListener("change", () => {
    for (const row of rows) {
      row.hidden = select.value !== "" && row.querySelector("[data-verdict]").dataset.verdict !== select.value;
    }
    const shown = rows.filter((row) => !row.hidden).length;
    part.querySelector("[role=status]").textContent = select.value ? `${shown} of ${rows.length} nights` : "";
  });
}
// Following a link opens the folded parts around its target.
const reveal = () => {
  for (let at = document.getElementById(location.hash.slice(1)); at; at = at.parentElement) if (at.matches("details")) at.open = true;
};
addEventListener("hashchange", reveal);
reveal();
