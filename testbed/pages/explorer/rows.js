// The rows of one evaluation as typed arrays: what is shown of them, in which order, and how many there are.

// Labels of groups of numbers, as they are filtered: "none", "below", and the number that each begins with.
const groupNumbers = (edges) => {
  const whole = edges.every(Number.isInteger);
  const short = (x) => String(Number(x.toFixed(2)));
  const labels = edges.map((edge, i) => {
    if (i === edges.length - 1) return `${short(edge)} or more`;
    const [low, high] = [edge, whole ? edges[i + 1] - 1 : edges[i + 1]].map(short);
    return low === high ? low : `${low} to ${high}`;
  });
  return { whole, keys: ["none", "below", ...edges.map(String)], labels: ["none", `below ${short(edges[0])}`, ...labels] };
};

const codeNumbers = (values, edges) => {
  const starts = edges.map((edge) => Math.round(edge * PARTS));
  return Uint8Array.from(values, (value) => {
    if (value === NOTHING) return 0;
    let group = 1;
    while (group <= starts.length && value >= starts[group - 1]) group++;
    return group;
  });
};

const MANY = 255;

class Rows {
  constructor({ header, arrays }, names) {
    this.header = header;
    this.names = names;
    this.size = arrays.case.length;
    this.case = arrays.case;
    this.set = new Uint16Array(this.size);
    this.place = new Uint32Array(this.size);
    const editor = new Uint16Array(this.size);
    let row = 0;
    header.sets.forEach((set, number) => set.editors.forEach((which) => {
      for (let i = 0; i < set.cases; i++, row++) {
        this.set[row] = number;
        this.place[row] = i;
        editor[row] = which;
      }
    }));
    const word = (key, title, says, values, words) =>
      ({ key, title, says, kind: "word", values, codes: values, keys: words, labels: words });
    const name = (key, title, says) => this.nameColumn(key, title, says, arrays[key]);
    this.columns = [
      name("subject", "subject", "Whose fact is edited."),
      name("relation", "relation", "Which fact of the subject is edited."),
      name("old", "old object", "What is true in the world."),
      name("new", "new object", "What the request says."),
      word("editor", "editor", "Who made the edit.", editor, header.editors),
      ...header.columns.map((column, i) => {
        const values = arrays[`column-${i}`];
        if (column.words) return word(column.key, column.title, column.says, values, column.words);
        const groups = groupNumbers(column.edges);
        return { ...column, ...groups, kind: "number", values, codes: codeNumbers(values, column.edges),
          whole: groups.whole && values.every((value) => value === NOTHING || value % PARTS === 0) };
      }),
    ];
    this.byKey = new Map(this.columns.map((column) => [column.key, column]));
    this.order = new Uint32Array(this.size);
    // Of each row 0 where it passes all filters, the number of the only one it fails, or MANY.
    this.failed = new Uint8Array(this.size);
    this.chosen = [];
    this.cases = this.case.reduce((most, one) => Math.max(most, one), -1) + 1;
    this.shown = 0;
    this.spread = null;
  }

  // Names are numbered again among those of the column, so that their groups are few.
  nameColumn(key, title, says, values) {
    const places = new Map();
    const codes = Uint32Array.from(values, (value) => {
      if (!places.has(value)) places.set(value, places.size);
      return places.get(value);
    });
    const labels = [...places.keys()].map((value) => this.names[value]);
    return { key, title, says, kind: "name", values, codes, keys: labels, labels, of: [...places.keys()] };
  }

  // Numbers by which a column is sorted; names and words by their letters.
  ranks(column) {
    if (column.kind === "number") return column.values;
    if (!column.ranks) {
      const collator = new Intl.Collator("en");
      const order = column.labels.map((_, i) => i);
      order.sort((a, b) => collator.compare(column.labels[a], column.labels[b]));
      const rank = new Int32Array(order.length);
      order.forEach((label, i) => { rank[label] = i; });
      column.ranks = Int32Array.from(column.codes, (code) => rank[code]);
    }
    return column.ranks;
  }

  // All rows in an order; what is missing comes last either way, and equal rows stay in theirs.
  sortAll(key) {
    if (key === this.sortedBy) return this.sorted;
    const descending = key.startsWith("-");
    const column = this.byKey.get(descending ? key.slice(1) : key);
    this.sortedBy = key;
    this.sorted = column ? this.orderBy(this.ranks(column), descending) : Uint32Array.from(this.case, (_, i) => i);
    return this.sorted;
  }

  orderBy(values, descending) {
    const room = 2 ** 21;
    const keys = Float64Array.from(values, (value, i) =>
      (value === NOTHING ? 2 ** 31 : descending ? -value : value) * room + i);
    keys.sort();
    return Uint32Array.from(keys, (key) => key - Math.floor(key / room) * room);
  }

  // Which names hold a text, letters big or small; null where there is none to look for.
  findNames(text) {
    const wanted = text.trim().toLocaleLowerCase();
    if (!wanted) return null;
    this.small ??= this.names.map((name) => name.toLocaleLowerCase());
    return Uint8Array.from(this.small, (name) => Number(name.includes(wanted)));
  }

  // Chooses and orders rows; counts of groups are made when they are asked for.
  apply({ filters, find, sort, spread }) {
    const chosen = [];
    for (const [key, wanted] of filters) {
      const column = this.byKey.get(key);
      if (!column) continue;
      const names = new Set(wanted);
      chosen.push({ column, codes: column.codes, allowed: Uint8Array.from(column.keys, (k) => Number(names.has(k))) });
    }
    const hits = this.findNames(find);
    const searched = ["subject", "relation", "old", "new"].map((key) => this.byKey.get(key).values);
    const passing = new Uint32Array(this.size);
    const { failed } = this;
    let shown = 0;
    for (let row = 0; row < this.size; row++) {
      failed[row] = MANY;
      if (hits && !searched.some((values) => hits[values[row]])) continue;
      let which = 0;
      for (let i = 0; i < chosen.length; i++) {
        if (chosen[i].allowed[chosen[i].codes[row]]) continue;
        which = which ? MANY : i + 1;
        if (which === MANY) break;
      }
      failed[row] = which;
      if (!which) passing[shown++] = row;
    }
    this.chosen = chosen.map(({ column }) => column);
    for (const column of this.columns) column.counts = null;
    this.spread = null;
    if (spread && this.byKey.get(spread)?.kind === "number")
      this.orderBySpread(this.byKey.get(spread), passing.subarray(0, shown));
    else {
      this.shown = 0;
      for (const row of this.sortAll(sort)) if (!failed[row]) this.order[this.shown++] = row;
    }
  }

  // How many cases the rows shown are of.
  countCases() {
    const seen = new Uint8Array(this.cases);
    let count = 0;
    for (let i = 0; i < this.shown; i++) {
      const which = this.case[this.order[i]];
      if (!seen[which]) count++;
      seen[which] = 1;
    }
    return count;
  }

  // How many rows each group of a column has under all other filters.
  countGroups(column) {
    if (column.counts) return column.counts;
    const counts = new Uint32Array(column.keys.length);
    const own = this.chosen.indexOf(column) + 1;
    const { failed } = this;
    const { codes } = column;
    for (let row = 0; row < this.size; row++) if (!failed[row] || failed[row] === own) counts[codes[row]]++;
    column.counts = counts;
    return counts;
  }

  // Rows by how far editors differ in their case, the rows of a case together; cases without any are left out.
  orderBySpread(column, rows) {
    const { cases } = this;
    const least = new Float64Array(cases).fill(Infinity);
    const most = new Float64Array(cases).fill(-Infinity);
    const counts = new Uint32Array(cases);
    const there = rows.filter((row) => column.values[row] !== NOTHING);
    for (const row of there) {
      const [which, value] = [this.case[row], column.values[row]];
      least[which] = Math.min(least[which], value);
      most[which] = Math.max(most[which], value);
      counts[which]++;
    }
    this.spread = Float64Array.from(most, (value, which) => (value > least[which] ? value - least[which] : NOTHING));
    const next = new Uint32Array(cases);
    this.shown = 0;
    for (const which of this.orderBy(this.spread, true)) {
      if (this.spread[which] === NOTHING) break;
      next[which] = this.shown;
      this.shown += counts[which];
    }
    for (const row of there)
      if (this.spread[this.case[row]] !== NOTHING) this.order[next[this.case[row]]++] = row;
  }

  // What a cell says, as text.
  text(column, row) {
    if (column.kind === "number") return decimal(column.values[row], column.whole);
    return column.labels[column.codes[row]] || "–";
  }

  // The rows of a case, one for each editor that has it.
  ofCase(number) {
    const rows = [];
    for (let row = 0; row < this.size; row++) if (this.case[row] === number) rows.push(row);
    return rows;
  }
}
