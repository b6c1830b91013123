// One edit opened: what was asked, and what model and agent answered before and after, editors side by side.
const MOST_EDITORS = 4;
const MOST_OPTIONS = 6;
const LEAST = 100; // of PARTS: what has less everywhere is "anything else"

const quote = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// Where each case's questions begin, as sums of how many there are.
const starts = (counts) => {
  const sums = [0];
  for (const count of counts) sums.push(sums.at(-1) + count);
  return sums;
};

// Two or more bars of one option: the model's first, then the agent's beliefs.
const bars = (model, agents) => {
  const values = [model, ...agents];
  const height = 12 / values.length;
  const says = `model ${decimal(model)}, agent ${agents.map(decimal).join(" or ")}`;
  return element("span", { class: "bars" },
    element("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", role: "img", "aria-label": says },
      element("title", {}, says),
      ...values.map((value, i) => element("rect", {
        class: i ? "agent" : "model", x: 0, y: i * height, height: height * 0.86, width: value / (PARTS / 100),
        "fill-opacity": i > 1 ? 0.55 : 1,
      }))),
    element("span", { class: "figure" }, decimal(model)));
};

class Case {
  constructor(rows, number, beside) {
    this.rows = rows;
    this.number = number;
    this.all = rows.ofCase(number);
    const editor = rows.byKey.get("editor");
    const name = (row) => editor.labels[editor.codes[row]];
    const wanted = beside.filter((one) => this.all.some((row) => name(row) === one));
    const chosen = this.all.filter((row) => wanted.includes(name(row))).slice(0, MOST_EDITORS);
    this.chosen = chosen.length ? chosen : this.all.slice(0, 1);
    this.nameOf = name;
  }

  text(key) {
    return this.rows.text(this.rows.byKey.get(key), this.all[0]);
  }

  // The files that the chosen editors' answers are in, then everything as elements.
  async draw() {
    const { header } = this.rows;
    this.parts = await Promise.all(this.chosen.map(async (row) => {
      const [set, place] = [this.rows.set[row], this.rows.place[row]];
      const file = Math.floor(place / header.casesInAFile);
      const content = await load(`${app.evaluation}-${set}-${file}.js`);
      const editor = this.rows.byKey.get("editor").codes[row];
      return { row, ...content, at: place - file * header.casesInAFile, nth: header.sets[set].editors.indexOf(editor) };
    }));
    return [this.drawHead(), this.drawNumbers(), ...this.drawQuestions(), ...this.drawClaims(),
      ...this.drawTexts(), this.drawCommands()];
  }

  drawHead() {
    return element("p", { class: "legend" },
      element("span", { class: "key model" }), "language model ",
      element("span", { class: "key agent" }), "rational agent",
      this.rows.header.times.length > 2 ? ` (as ${this.rows.header.times.slice(1).join(", ")})` : "");
  }

  table(title, heads, lines, className = "") {
    return element("section", { class: `block ${className}` }, element("h3", {}, title),
      element("div", { class: "scroll" }, element("table", {},
        element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
        element("tbody", {}, ...lines.map(([first, ...cells]) => element("tr", {},
          element("th", { scope: "row" }, first), ...cells.map((cell) => element("td", {}, cell))))))));
  }

  editors() {
    return this.chosen.map((row) => paint(this.rows, row));
  }

  drawNumbers() {
    const lines = this.rows.columns.slice(5).map((column) => [
      element("span", { title: column.says }, column.title),
      ...this.chosen.map((row) => this.rows.text(column, row)),
    ]);
    return this.table("In numbers", ["", ...this.editors()], lines);
  }

  // Cases of editors that were asked other questions lie in other files: theirs follow below.
  drawQuestions() {
    const groups = new Map();
    for (const part of this.parts) groups.set(part.arrays, [...(groups.get(part.arrays) ?? []), part]);
    return [...groups.values()].flatMap((parts) => {
      const { arrays, at } = parts[0];
      arrays.firstQuestions ??= starts(arrays.questions);
      arrays.firstOptions ??= starts(arrays.options);
      const blocks = [];
      for (let q = arrays.firstQuestions[at]; q < arrays.firstQuestions[at + 1]; q++)
        blocks.push(this.drawQuestion(q, arrays, parts));
      return blocks;
    });
  }

  drawQuestion(q, a, parts) {
    const { names, header } = this.rows;
    const times = header.times.length;
    const [questions, options] = [a.role.length, a.option.length];
    const [first, last] = [a.firstOptions[q], a.firstOptions[q + 1]];
    const after = (part, o) => a.model[part.nth * options + o];
    const agents = (o) => Array.from({ length: times - 1 }, (_, t) => a.agent[(t + 1) * options + o]);
    const tallest = (o) => Math.max(a.model_before[o], a.agent[o], ...agents(o), ...parts.map((p) => after(p, o)));
    const shown = Array.from({ length: last - first }, (_, i) => first + i)
      .sort((x, y) => tallest(y) - tallest(x)).slice(0, MOST_OPTIONS).filter((o, i) => !i || tallest(o) >= LEAST);
    const lines = shown.map((o) => [names[a.option[o]], bars(a.model_before[o], [a.agent[o]]),
      ...parts.map((part) => bars(after(part, o), agents(o)))]);
    const rest = (value) => Math.max(0, PARTS - shown.reduce((sum, o) => sum + value(o), 0));
    const others = [
      [rest((o) => a.model_before[o]), [rest((o) => a.agent[o])]],
      ...parts.map((part) => [rest((o) => after(part, o)),
        Array.from({ length: times - 1 }, (_, t) => rest((o) => a.agent[(t + 1) * options + o]))]),
    ];
    if (others.some(([model, agent]) => Math.max(model, ...agent) >= LEAST))
      lines.push(["anything else", ...others.map(([model, agent]) => bars(model, agent))]);
    const says = (model, agent) => {
      const [m, g] = [names[model] || "nothing that is an object", names[agent] || "undetermined"];
      return element("span", { class: model === agent ? "same" : "other" }, `${m}`,
        element("small", {}, model === agent ? " as the agent" : ` the agent: ${g}`));
    };
    lines.push(["answer", says(a.answer_before[q], a.agent_answer[q]),
      ...parts.map((part) => says(a.answer[part.nth * questions + q], a.agent_answer[questions + q]))]);
    const stated = a.stated[q] < 0 ? "" : `, stated ${counted(a.stated[q])} times`;
    const title = element("span", {}, `${names[a.subject[q]]} ${names[a.relation[q]]} …`,
      element("small", {}, ` ${header.roles[a.role[q]]}${stated}`));
    return this.table(title, ["", "before", ...parts.map((part) => paint(this.rows, part.row))], lines, "question");
  }

  drawClaims() {
    return this.parts.slice(0, 1).flatMap(({ arrays: a, at }) => {
      const first = starts(a.claims)[at];
      const count = a.claims[at];
      if (!count) return [];
      const claims = a.claim_role.length;
      const same = this.parts.filter((part) => part.arrays === a);
      const lines = Array.from({ length: count }, (_, i) => first + i).map((m) => [
        this.rows.header.roles[a.claim_role[m]],
        bars(a.claim_before[2 * m], [a.claim_agent[m]]),
        ...same.map((part) => bars(a.claim[2 * (part.nth * claims + m)], [a.claim_agent[claims + m]])),
      ]);
      const heads = ["", "before", ...same.map((part) => paint(this.rows, part.row))];
      return [this.table("Is it true? The probability of “true”; A is the new fact", heads, lines, "question")];
    });
  }

  drawTexts() {
    const { header, at } = this.parts[0];
    const mine = header.written.map((text, i) => ({ text, i })).filter(({ text }) => text[0] === at);
    const lines = (part, sentences) => element("div", { class: "text" }, ...sentences.map(([text, flaw]) =>
      element("p", {}, part.header.texts[text], part.header.texts[flaw]
        ? element("small", {}, ` (${part.header.texts[flaw]})`) : "")));
    return mine.map(({ text: [, role, sample, before], i }) => {
      const same = this.parts.filter((part) => part.header === header);
      const cells = [lines(this.parts[0], before), ...same.map((part) => lines(part, header.written[i][4][part.nth]))];
      const heads = ["", "before", ...same.map((part) => paint(this.rows, part.row))];
      return this.table(`What it writes: ${role}`, heads, [[`text ${sample + 1}`, ...cells]], "texts");
    });
  }

  drawCommands() {
    const question = `${this.text("subject")} ${this.text("relation")}`;
    const edit = `${question} = ${this.text("new")}`;
    const { header } = this.rows;
    const lines = this.chosen.map((row) => {
      const tail = header.commands[this.rows.byKey.get("editor").codes[row]];
      return element("pre", {}, `python -m testbed.ask ${quote(question)} --edit ${quote(edit)} ${tail}`);
    });
    return element("section", { class: "block" }, element("h3", {}, "Ask it yourself"), ...lines);
  }
}
