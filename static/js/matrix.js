// The matrix is one tab stop: arrow keys walk from deviation to deviation, Home and End to the ends of a row.
(() => {
  const cells = (table) => [...table.querySelectorAll("a.cell")];
  const at = (cell) => cell.querySelector(".bg").getBoundingClientRect();
  const rowOf = (cell) => cell.closest("tr");

  const setUp = () => document.querySelectorAll("table.heat").forEach((table) => {
    const all = cells(table), current = all.find((cell) => cell === document.activeElement) ?? all[0];
    all.forEach((cell) => cell.setAttribute("tabindex", cell === current ? "0" : "-1"));
  });

  const nearest = (candidates, cell) => {
    const middle = at(cell).left;
    return candidates.reduce((best, other) => (!best || Math.abs(at(other).left - middle) < Math.abs(at(best).left - middle) ? other : best), null);
  };
  const vertical = (table, cell, step) => {
    const rows = [...table.querySelectorAll("tbody tr")];
    for (let i = rows.indexOf(rowOf(cell)) + step; i >= 0 && i < rows.length; i += step) {
      const found = cells(rows[i]);
      if (found.length) return nearest(found, cell);
    }
    return null;
  };
  const target = (table, cell, key) => {
    const row = cells(rowOf(cell)), i = row.indexOf(cell);
    return { ArrowRight: row[i + 1], ArrowLeft: row[i - 1], Home: row[0], End: row[row.length - 1],
      ArrowDown: vertical(table, cell, 1), ArrowUp: vertical(table, cell, -1) }[key];
  };

  addEventListener("keydown", (event) => {
    const cell = event.target.closest?.("a.cell"), table = cell?.closest("table.heat");
    if (!table || !["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    const next = target(table, cell, event.key);
    if (!next) return;
    cells(table).forEach((other) => other.setAttribute("tabindex", other === next ? "0" : "-1"));
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  addEventListener("DOMContentLoaded", setUp);
  addEventListener("live:swapped", setUp);
})();
