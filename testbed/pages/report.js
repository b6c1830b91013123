// Parts that an address unfolds: index.html#hase-section-cost. Tables that sort by a click on a header, or by the address: index.html#sort=TABLE:COLUMN:asc (or desc).
// COLUMN is a header's text without its arrow, or its number counted from 1. What is missing stays last either way.
(() => {
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  };

  const key = (row, column) => {
    const cell = row.cells[column];
    if ("value" in cell.dataset) return Number(cell.dataset.value);
    return cell.classList.contains("word") ? cell.textContent : null;
  };

  const nameOf = (head) => head.querySelector(".sort").textContent.trim().replace(/ (↑|↓|→1)$/, "");

  const sort = (table, column, descending) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, i) =>
      head.setAttribute("aria-sort", i !== column ? "none" : descending ? "descending" : "ascending"));
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => ({ row, key: key(row, column) }));
    rows.sort((a, b) => {
      const order = compare(a.key, b.key);
      return descending && a.key !== null && b.key !== null ? -order : order;
    });
    body.append(...rows.map(({ row }) => row));
  };

  const remember = (table, column, descending) => {
    const name = nameOf(table.tHead.rows[0].cells[column]);
    const parts = [table.id, name, descending ? "desc" : "asc"].map(encodeURIComponent);
    history.replaceState(null, "", "#sort=" + parts.join(":"));
  };

  // Opens whatever holds a part of the page, and the part itself.
  const unfold = (part) => {
    if (!part) return;
    for (let box = part.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    part.scrollIntoView();
  };

  const follow = () => {
    const [, wanted] = location.hash.split("#sort=");
    if (!wanted) return unfold(document.getElementById(decodeURIComponent(location.hash.slice(1))));
    const [id, name, order] = wanted.split(":").map(decodeURIComponent);
    const table = document.getElementById(id);
    if (!table || !table.tHead) return;
    const names = [...table.tHead.rows[0].cells].map(nameOf);
    const column = names.includes(name) ? names.indexOf(name) : Number(name) - 1;
    if (!(column in names)) return;
    sort(table, column, order === "desc");
    unfold(table);
  };

  document.querySelectorAll("table.sortable").forEach((table) =>
    [...table.tHead.rows[0].cells].forEach((head, column) =>
      head.querySelector(".sort").addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") === "ascending";
        sort(table, column, descending);
        remember(table, column, descending);
      })));
  addEventListener("hashchange", follow);
  // Paper cannot be unfolded.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((box) => { box.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((box) => { box.open = false; }));
  follow();
})();
