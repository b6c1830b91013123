// The page: state in the address, filters, table, keyboard.
const ROW = 30;
const SPARE = 8;
const MOST_LABELS = 20;
const at = (id) => document.getElementById(id);
const meta = JSON.parse(at("meta").textContent);
const app = { evaluation: "", rows: null, cursor: 0 };

const readState = () => {
  const words = new URLSearchParams(location.hash.slice(1));
  const filters = new Map();
  for (const [key, value] of words) {
    if (!key.startsWith("f.")) continue;
    const column = key.slice(2);
    filters.set(column, [...(filters.get(column) ?? []), value]);
  }
  const number = words.get("case");
  return {
    evaluation: words.get("evaluation") || meta.evaluations[0].key,
    find: words.get("find") || "", sort: words.get("sort") || "", spread: words.get("spread") || "",
    filters, case: number === null ? null : Number(number), beside: words.getAll("beside"),
  };
};

const writeState = (state) => {
  const words = new URLSearchParams();
  if (state.evaluation !== meta.evaluations[0].key) words.set("evaluation", state.evaluation);
  for (const key of ["find", "sort", "spread"]) if (state[key]) words.set(key, state[key]);
  for (const [key, values] of state.filters) for (const value of values) words.append(`f.${key}`, value);
  if (state.case !== null) words.set("case", state.case);
  if (state.case !== null) for (const name of state.beside) words.append("beside", name);
  return `#${words}`;
};

// Changes some of the state. An opened case is a step that the browser's back button undoes.
const change = (changes) => {
  const state = { ...app.state, ...changes };
  const hash = writeState(state);
  if (state.case !== null && app.state.case === null) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
  return show(state);
};

// An editor's name with its colour, the same everywhere.
const paint = (rows, row) => {
  const column = rows.byKey.get("editor");
  const code = column.codes[row];
  const slot = rows.header.slots[code];
  return element("span", { class: `editor e${slot % 8}${slot % 16 > 7 ? " ring" : ""}` }, column.labels[code]);
};

const show = async (state) => {
  const before = app.state;
  app.state = state;
  if (!before || before.evaluation !== state.evaluation) {
    const known = meta.evaluations.some((one) => one.key === state.evaluation);
    app.evaluation = known ? state.evaluation : meta.evaluations[0].key;
    const [content, names] = await Promise.all([load(`${app.evaluation}.js`), load("names.js")]);
    app.rows = new Rows(content, names.header.names);
    drawTop();
  }
  const same = before && before.evaluation === state.evaluation &&
    ["find", "sort", "spread"].every((key) => before[key] === state[key]) && before.filters === state.filters;
  if (!same) {
    app.rows.apply(state);
    app.cursor = 0;
    at("table").scrollTop = 0;
    drawTable();
    drawFilters();
    drawCount();
  }
  if (document.activeElement !== at("find")) at("find").value = state.find;
  await showCase(before);
  document.documentElement.dataset.ready = "yes";
};

const drawTop = () => {
  at("evaluations").replaceChildren(...(meta.evaluations.length < 2 ? [] : meta.evaluations.map(({ key, title }) =>
    element("button", { type: "button", "aria-pressed": String(key === app.evaluation),
      onclick: () => change({ evaluation: key, filters: new Map(), find: "", sort: "", spread: "", case: null }) },
    title))));
  const presets = [{ title: "all edits", says: "Every edit, nothing filtered.", filters: {}, sort: "", spread: "" },
    ...app.rows.header.presets];
  at("presets").replaceChildren(...presets.map((preset) => element("button", {
    type: "button", title: preset.says,
    // Who is compared stays chosen.
    onclick: () => change({ find: "", sort: preset.sort, spread: preset.spread, filters: new Map([
      ...[...app.state.filters].filter(([key]) => key === "editor" && preset.title !== "all edits"),
      ...Object.entries(preset.filters)]) }),
  }, preset.title)));
};

const drawCount = () => {
  const { rows, state } = app;
  const cases = rows.countCases();
  at("count").textContent = `${counted(rows.shown)} of ${counted(rows.size)} edits, ${counted(cases)} cases` +
    (state.spread ? `, in order of how far editors differ in ${rows.byKey.get(state.spread)?.title}` : "");
};

// Filters

const toggle = (column, key) => {
  const filters = new Map(app.state.filters);
  const chosen = new Set(filters.get(column.key) ?? []);
  if (!chosen.delete(key)) chosen.add(key);
  if (chosen.size) filters.set(column.key, [...chosen]);
  else filters.delete(column.key);
  return change({ filters });
};

const drawFilters = () => {
  const boxes = at("filters");
  if (boxes.dataset.evaluation !== app.evaluation) {
    boxes.dataset.evaluation = app.evaluation;
    boxes.replaceChildren(...app.rows.columns.map((column) => element("details", {
      "data-key": column.key, ontoggle: () => drawFilter(column), open: column.key === "editor",
    }, element("summary"), element("p", { class: "quiet" }, column.says), element("ul"))));
  }
  app.rows.columns.forEach(drawFilter);
};

const drawFilter = (column) => {
  const box = at("filters").querySelector(`details[data-key="${CSS.escape(column.key)}"]`);
  const chosen = new Set(app.state.filters.get(column.key) ?? []);
  box.firstChild.textContent = chosen.size ? `${column.title} (${chosen.size})` : column.title;
  if (!box.open) return;
  const counts = app.rows.countGroups(column);
  let codes = column.keys.map((_, code) => code);
  if (column.kind === "name") {
    const important = (code) => (chosen.has(column.keys[code]) ? 2 ** 32 : 0) + counts[code];
    codes = codes.sort((a, b) => important(b) - important(a)).slice(0, MOST_LABELS);
  }
  codes = codes.filter((code) => counts[code] || chosen.has(column.keys[code]));
  const lines = codes.map((code) => element("li", {}, element("label", {},
    element("input", { type: "checkbox", checked: chosen.has(column.keys[code]),
      onchange: () => toggle(column, column.keys[code]) }),
    element("span", {}, column.labels[code] || "–"), element("small", {}, counted(counts[code])))));
  const left = column.keys.length - MOST_LABELS;
  if (column.kind === "name" && left > 0) lines.push(element("li", { class: "quiet" }, `${counted(left)} more: search`));
  box.lastChild.replaceChildren(...lines);
};

// Table

const width = (column) => (column.key === "editor" ? "8.6rem" : { name: "8.6rem", word: "7.2rem", number: "6.8rem" }[column.kind]);

// On a narrow screen what came of an edit stands beside its subject, before who made it and what was asked.
const NARROW = window.matchMedia("(max-width: 60rem)");
const inOrder = ([subject, ...rest]) => {
  const isAbout = (column) => column.kind === "name" || column.key === "editor";
  return NARROW.matches ? [subject, ...rest.filter((one) => !isAbout(one)).slice(0, 2), ...rest.filter(isAbout),
    ...rest.filter((one) => !isAbout(one)).slice(2)] : [subject, ...rest];
};
NARROW.addEventListener("change", () => app.rows && drawTable());

const drawTable = () => {
  const { rows, state } = app;
  const columns = inOrder(rows.columns);
  if (state.spread && rows.byKey.has(state.spread)) columns.push(null);
  const table = at("table");
  table.style.setProperty("--columns", columns.map((column) => (column ? width(column) : "6.8rem")).join(" "));
  const key = state.sort.replace(/^-/, "");
  const order = (column) => (column?.key !== key || state.spread ? "none" : state.sort[0] === "-" ? "descending" : "ascending");
  at("heads").replaceChildren(...columns.map((column) => element("div", {
    role: "columnheader", "aria-sort": column ? order(column) : "descending", class: column?.kind ?? "number",
  }, column ? element("button", { type: "button", title: column.says, onclick: () => change({ spread: "",
    sort: state.sort === `-${column.key}` ? column.key : state.sort === column.key ? "" : `-${column.key}` }) },
  column.title) : "differs by")));
  at("space").style.height = `${rows.shown * ROW}px`;
  table.setAttribute("aria-rowcount", rows.shown);
  app.columns = columns;
  drawRows();
};

const drawRows = () => {
  const { rows, columns } = app;
  const table = at("table");
  const first = Math.max(0, Math.floor(table.scrollTop / ROW) - SPARE);
  const last = Math.min(rows.shown, Math.ceil((table.scrollTop + table.clientHeight) / ROW) + SPARE);
  const lines = [];
  for (let i = first; i < last; i++) {
    const row = rows.order[i];
    lines.push(element("div", { role: "row", id: `row-${i}`, "aria-rowindex": i + 1, "aria-selected": String(i === app.cursor),
      style: `top:${i * ROW}px`, onclick: () => { app.cursor = i; openRow(i); } },
    ...columns.map((column) => {
      if (!column) return element("div", { role: "gridcell", class: "number" }, decimal(rows.spread[rows.case[row]]));
      const text = rows.text(column, row);
      const tone = text === "yes" || text === "no" ? ` ${text}` : "";
      return element("div", { role: "gridcell", class: column.kind + tone, title: text },
        column.key === "editor" ? paint(rows, row) : text);
    })));
  }
  at("space").replaceChildren(...lines);
  table.setAttribute("aria-activedescendant", `row-${app.cursor}`);
  at("none").hidden = rows.shown > 0;
};

const moveTo = (place) => {
  const table = at("table");
  app.cursor = Math.max(0, Math.min(app.rows.shown - 1, place));
  const [top, head] = [app.cursor * ROW, at("heads").offsetHeight];
  if (top < table.scrollTop) table.scrollTop = top;
  if (top + ROW + head > table.scrollTop + table.clientHeight) table.scrollTop = top + ROW + head - table.clientHeight;
  drawRows();
};

// The opened case

const openRow = (place) => {
  const { rows } = app;
  if (!rows.shown) return null;
  const row = rows.order[place];
  const editor = rows.byKey.get("editor");
  const mine = editor.labels[editor.codes[row]];
  const chosen = app.state.filters.get("editor") ?? [];
  // The editor of the row, beside those that are compared already.
  const beside = app.state.case !== null && app.state.beside.includes(mine) ? app.state.beside
    : [mine, ...chosen.filter((name) => name !== mine)].slice(0, MOST_EDITORS);
  return change({ case: rows.case[row], beside });
};

const showCase = async (before) => {
  const { state, rows } = app;
  const dialog = at("case");
  if (state.case === null) {
    app.isOpen = false;
    if (dialog.open) dialog.close();
    return;
  }
  if (before && before.case === state.case && String(before.beside) === String(state.beside) && dialog.open) return;
  const one = new Case(rows, state.case, state.beside);
  if (!one.all.length) return;
  at("case-title").textContent = `${one.text("subject")} ${one.text("relation")}: ${one.text("new")}`;
  at("case-old").textContent = `In the world: ${one.text("old")}.`;
  at("case-editors").replaceChildren(...one.all.map((row) => {
    const name = one.nameOf(row);
    const isChosen = one.chosen.includes(row);
    const names = one.chosen.map(one.nameOf);
    return element("label", {}, element("input", { type: "checkbox", checked: isChosen,
      disabled: isChosen ? names.length === 1 : names.length === MOST_EDITORS,
      onchange: () => change({ beside: isChosen ? names.filter((n) => n !== name) : [...names, name] }) }), paint(rows, row));
  }));
  const content = await one.draw();
  if (app.state !== state) return;
  at("case-content").replaceChildren(...content);
  app.isOpen = true;
  if (!dialog.open) dialog.showModal();
};

// Keyboard

const KEYS = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity };

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = document.activeElement === at("find");
  if (at("case").open) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || document.activeElement.type === "checkbox") return;
    event.preventDefault();
    moveTo(app.cursor + step);
    openRow(app.cursor);
  } else if (event.key === "/" && !isTyping) {
    event.preventDefault();
    at("find").focus();
  } else if (event.key === "Escape" && isTyping) {
    at("table").focus();
  } else if (isTyping && event.key === "ArrowDown") {
    event.preventDefault();
    at("table").focus();
  } else if (document.activeElement === at("table") || document.activeElement === document.body) {
    if (event.key in KEYS) {
      event.preventDefault();
      moveTo(app.cursor + KEYS[event.key]);
    } else if (event.key === "Enter") {
      event.preventDefault();
      openRow(app.cursor);
    }
  }
});

at("find").addEventListener("input", () => change({ find: at("find").value }));
at("table").addEventListener("scroll", () => requestAnimationFrame(drawRows), { passive: true });
// The event comes a while after: by then another case may be on its way, or there already.
at("case").addEventListener("close", () => { if (app.isOpen && !at("case").open) change({ case: null, beside: [] }); });
at("close").addEventListener("click", () => at("case").close());
addEventListener("resize", () => { if (app.rows) drawRows(); });
addEventListener("popstate", () => show(readState()));

const complain = (error) => {
  at("count").textContent = error.message;
  document.documentElement.dataset.ready = "no";
};
addEventListener("unhandledrejection", (event) => complain(event.reason));
if (matchMedia("(min-width: 60rem)").matches) at("panel").open = true;
show(readState()).then(() => at("table").focus({ preventScroll: true }));
