// The charts of a section: any value over any other, a series per value of a third, and two variants next to
// each other. diff.js comes before this in the same script. Texts of the capture only become text nodes.

const SVG = "http://www.w3.org/2000/svg";
const EACH = "each variant, best first", MAIN = "main facts";
/** How near the pointer must be to a mark, in pixels. */
const NEAR = 24;

/** An SVG element. */
function draw(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A choice with a label. */
function choice(label, options, chosen, action) {
  const select = make("select", {}, ...options.map((text) => make("option", { selected: text === chosen }, text)));
  select.onchange = () => action(select.value);
  return make("label", {}, `${label} `, select);
}

/** Where a fact's numbers are on an axis between two places. */
function placer({ ticks }, from, to) {
  const low = ticks[0][0], high = ticks.at(-1)[0];
  return (number) => from + ((number - low) / (high - low)) * (to - from);
}

/** One picture: a fact over an axis, another fact, or the variants in its own order. */
class Picture {
  /** @param {Charts} charts @param {object} fact @param {boolean} large */
  constructor(charts, fact, large) {
    this.charts = charts;
    this.fact = fact;
    [this.width, this.height] = large ? [720, 380] : [340, 204];
    [this.left, this.right, this.top, this.bottom] = [46, 12, 10, 40];
    this.series = charts.series();
    const known = [...charts.variants.keys()].filter((index) => fact.values[index] !== null);
    this.place(known);
    this.y = placer(fact, this.height - this.bottom, this.top);
    this.points = known.filter((index) => this.x(index) !== null).map((index) =>
      ({ index, x: this.x(index), y: this.y(fact.values[index]), series: charts.seriesOf(index) }));
    this.points.sort((a, b) => a.x - b.x || b.y - a.y);
  }

  /** Chooses where variants are from left to right: `x`, `ticks` and `tickOf`. */
  place(known) {
    const { axis, other } = this.charts;
    const right = this.width - this.right;
    if (other) {
      const at = placer(other, this.left, right);
      this.x = (index) => (other.values[index] === null ? null : at(other.values[index]));
      this.ticks = other.ticks.map(([number, label]) => [at(number), label]);
      return;
    }
    const sign = this.fact.better === "high" ? -1 : 1;
    const bad = (index) => Boolean(this.charts.variants[index][2]);
    const order = [...known].sort((a, b) => bad(a) - bad(b) || sign * (this.fact.values[a] - this.fact.values[b]));
    const place = new Map(order.map((index, at) => [index, at]));
    const names = axis ? axis.ticks : order.map((index) => `#${this.charts.variants[index][0]}`);
    const step = (right - this.left) / Math.max(1, names.length);
    const shift = axis ? Math.min(this.width / 68, step / (this.series.length + 1)) : 0;
    this.tickOf = (index) => (axis ? axis.of[index] : place.get(index));
    this.x = (index) => this.left + (this.tickOf(index) + 0.5) * step
      + (this.charts.seriesOf(index) - (this.series.length - 1) / 2) * shift;
    const every = Math.ceil(names.length / (this.width / 28));
    this.ticks = names.map((name, at) => [this.left + (at + 0.5) * step, name]).filter((_, at) => at % every === 0);
  }

  /** The figure: its caption, then the picture. */
  figure() {
    const { charts, fact } = this;
    const words = `${fact.title} over ${charts.over}, ${this.points.length} variants. Arrow keys move between them, `
      + "Enter compares the variant with A, a makes it A.";
    this.svg = draw("svg", { viewBox: `0 0 ${this.width} ${this.height}`, tabindex: 0, role: "application",
      "aria-roledescription": "chart", "aria-label": words }, ...this.grid(), ...this.lines(), ...this.marks());
    this.svg.addEventListener("pointermove", (event) => charts.hover(this, this.near(event)));
    this.svg.addEventListener("pointerleave", () => charts.hover(this, null));
    this.svg.addEventListener("click", (event) => charts.choose(this.near(event)?.index, event.shiftKey ? 0 : 1));
    this.svg.addEventListener("focus", () => this.svg.matches(":focus-visible") && this.move(0));
    this.svg.addEventListener("blur", () => charts.hover(this, null));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    return make("figure", {}, make("figcaption", {}, fact.about), this.svg);
  }

  *grid() {
    const right = this.width - this.right;
    for (const [number, label] of this.fact.ticks) {
      yield draw("path", { d: `M${this.left},${this.y(number)}H${right}`, class: "grid" });
      yield draw("text", { x: this.left - 6, y: this.y(number) + 4, class: "end" }, label);
    }
    for (const [x, name] of this.ticks) {
      yield draw("text", { x, y: this.height - 24 }, name.length > 14 ? `${name.slice(0, 13)}\u2026` : name);
    }
    const middle = (this.left + right) / 2;
    yield draw("text", { x: middle, y: this.height - 7, class: "axis" }, this.charts.over);
  }

  /** A line per series through the best point of each tick. */
  *lines() {
    if (!this.tickOf) return;
    for (const series of this.series.keys()) {
      const best = new Map();
      for (const point of this.points) {
        if (point.series !== series || this.charts.variants[point.index][2]) continue;
        const tick = this.tickOf(point.index), other = best.get(tick);
        // Larger values are higher up, where y is less.
        const better = !other || (this.fact.better === "high" ? point.y < other.y : point.y > other.y);
        if (better) best.set(tick, point);
      }
      const corners = [...best].sort(([a], [b]) => a - b).map(([, point]) => `${point.x},${point.y}`);
      if (corners.length > 1) yield draw("path", { d: `M${corners.join("L")}`, class: `line s${series % this.charts.marks.length}` });
    }
  }

  /** The marks; A and B come last, so that no other mark covers them. */
  marks() {
    const last = (point) => this.charts.pair.includes(point.index);
    return [...this.points].sort((a, b) => last(a) - last(b)).map((point) => {
      const [id, , problem] = this.charts.variants[point.index];
      const shape = problem ? this.charts.problem() : this.charts.mark(point.series);
      const side = this.charts.pair.indexOf(point.index);
      const letter = side < 0 ? [] : [draw("circle", { r: 7, class: "ring" }), draw("text", { x: side ? 13 : -13, y: 4 }, "AB"[side])];
      const made = draw("g", { transform: `translate(${point.x},${point.y})`, "data-id": id }, shape, ...letter);
      if (side >= 0) made.classList.add("ab"[side]);
      return (point.element = made);
    });
  }

  /** The point near the pointer, if there is one. */
  near(event) {
    const box = this.svg.getBoundingClientRect(), scale = this.width / box.width;
    const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    const far = (point) => Math.hypot(point.x - x, point.y - y);
    const nearest = this.points.reduce((best, point) => (!best || far(point) < far(best) ? point : best), null);
    return nearest && far(nearest) < NEAR * scale ? nearest : null;
  }

  move(by) {
    const at = this.points.findIndex((point) => point.index === this.charts.cursor);
    const next = at < 0 ? 0 : Math.min(Math.max(at + by, 0), this.points.length - 1);
    if (this.points.length) this.charts.hover(this, this.points[next]);
  }

  key(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home: -1e9, End: 1e9 };
    if (event.key in steps) this.move(steps[event.key]);
    else if (event.key === "Enter" || event.key === "b") this.charts.choose(this.charts.cursor, 1);
    else if (event.key === "a") this.charts.choose(this.charts.cursor, 0);
    else if (event.key === "Escape") this.charts.hover(this, null);
    else return;
    event.preventDefault();
  }
}

/** The charts of a section and the comparison of two of its variants. */
class Charts {
  static all = [];

  constructor(plots) {
    this.plots = plots;
    this.section = plots.closest("section");
    Charts.all.push(this);
  }

  load() {
    return (this.loading ??= this.unpack());
  }

  async unpack() {
    Object.assign(this, await unpacked(`${this.plots.id}-data`));
    this.numeric = this.facts.filter((fact) => fact.values.some((value) => value !== null));
    this.axis = this.axes[0] ?? null;
    this.other = null;
    this.splits = this.axes.filter((one) => one.ticks.length <= this.marks.length);
    this.by = this.axes.find((one) => one.name === this.split) ?? null;
    this.only = null;
    const [, a, b] = this.pairs[0] ?? [0, this.variants[0][0], this.variants[1][0]];
    this.pair = [a, b].map((id) => this.variants.findIndex(([other]) => other === id));
    this.tip = make("div", { className: "tip", hidden: true });
    this.tip.setAttribute("role", "status");
    this.tools = make("div", { className: "tools" });
    this.note = make("p", { className: "quiet" });
    this.body = make("div", {});
    this.table = make("div", { className: "compare" });
    this.plots.append(this.tools, this.note, this.body, this.table, this.tip);
    this.controls();
    this.show();
    this.compare();
  }

  /** The title of the horizontal axis. */
  get over() {
    return this.other ? this.other.about.split(";")[0] : this.axis ? this.axis.name : EACH;
  }

  series() {
    return this.by ? this.by.ticks : [""];
  }

  seriesOf(index) {
    return this.by ? this.by.of[index] : 0;
  }

  /** The mark of a series. */
  mark(series) {
    const number = series % this.marks.length;
    return draw("path", { d: this.marks[number], class: `mark s${number}` });
  }

  /** The mark of a variant with a problem. */
  problem() {
    return draw("path", { d: this.trouble, class: "mark trouble" });
  }

  controls() {
    const named = (name) => this.numeric.find((fact) => fact.title === name) ?? null;
    const axes = this.axes.map((one) => one.name), titles = this.numeric.map((fact) => fact.title);
    const over = choice("Horizontal", [...axes, EACH, ...titles], this.over, (name) => {
      this.axis = this.axes.find((one) => one.name === name) ?? null;
      this.other = this.axis ? null : named(name);
      if (this.by && this.by === this.axis) this.by = this.splits.filter((one) => one !== this.axis).at(-1) ?? null;
      this.controls();
      this.show();
    });
    const facts = choice("Vertical", [MAIN, ...titles], this.only?.title ?? MAIN, (name) => {
      this.only = named(name);
      this.show();
    });
    const splits = this.splits.filter((one) => one !== this.axis).map((one) => one.name);
    const series = choice("Marks by", ["nothing", ...splits], this.by?.name ?? "nothing", (name) => {
      this.by = this.splits.find((one) => one.name === name) ?? null;
      this.show();
    });
    const focused = [...this.tools.children].findIndex((label) => label.contains(document.activeElement));
    this.tools.replaceChildren(over, facts, series);
    if (focused >= 0) this.tools.children[focused].control.focus();
  }

  /** Draws the chosen charts. */
  show() {
    const facts = this.only ? [this.only] : this.main.flatMap((name) => this.numeric.filter((fact) => fact.name === name));
    this.pictures = facts.map((fact) => new Picture(this, fact, Boolean(this.only)));
    const figures = make("div", { className: this.only ? "charts large" : "charts" });
    figures.append(...this.pictures.map((picture) => picture.figure()));
    this.body.replaceChildren(...this.legend(), figures);
    this.note.textContent = `${this.joins()} Point at a mark to see the variant, click it to compare it with A; `
      + "Shift and click makes it A.";
  }

  /** What lines join, as lines_text in Python says it. */
  joins() {
    const same = this.by ? ` with the same ${this.by.name}` : "", first = this.by ? "A" : "The";
    if (this.other) return "A mark per variant.";
    if (!this.axis) return `${first} line joins the variants${same}, from best to worst.`;
    const others = this.axes.filter((one) => one !== this.axis && one !== this.by).map((one) => one.name);
    const differ = others.length ? `; along a line, ${others.join(", ")} may differ too` : "";
    return `${first} line joins the best variant${same} that can be launched at each ${this.axis.name}${differ}.`;
  }

  legend() {
    const key = (mark) => draw("svg", { viewBox: "0 0 14 14", class: "key", "aria-hidden": true },
      draw("g", { transform: "translate(7,7)" }, mark));
    const marks = !this.by ? [] : [`${this.by.name}: `, ...this.by.ticks.flatMap((tick, place) =>
      [key(this.mark(place)), ` ${tick}  `])];
    if (this.variants.some(([, , problem]) => problem)) marks.push(key(this.problem()), " cannot be launched");
    return marks.length ? [make("p", { className: "quiet legend" }, ...marks)] : [];
  }

  /** Shows which variant a mark is, and the same variant in the other charts and in the table. */
  hover(picture, point) {
    for (const old of this.section.querySelectorAll(".hot")) old.classList.remove("hot");
    this.cursor = point?.index;
    this.tip.hidden = !point;
    if (!point) return;
    const [id, name, problem] = this.variants[point.index];
    for (const same of this.section.querySelectorAll(`[data-id="${Number(id)}"]`)) same.classList.add("hot");
    document.getElementById(`v${id}`)?.classList.add("hot");
    const value = `${picture.fact.title} ${picture.fact.texts[point.index]}`;
    this.tip.replaceChildren(make("b", {}, `#${id} `), name, make("br"), value, problem ? make("br") : "", problem);
    const box = picture.svg.getBoundingClientRect(), around = this.plots.getBoundingClientRect();
    const scale = box.width / picture.width;
    const left = box.left - around.left + point.x * scale;
    this.tip.style.left = `${Math.max(0, Math.min(left - 20, around.width - this.tip.offsetWidth))}px`;
    this.tip.style.top = `${box.top - around.top + point.y * scale + 14}px`;
  }

  /** Makes a variant A (0) or B (1). */
  choose(index, side) {
    if (index === undefined) return;
    this.pair[side] = index;
    for (const picture of this.pictures) {
      const marks = picture.marks(), old = picture.svg.querySelectorAll("g[data-id]");
      old.forEach((one) => one.remove());
      picture.svg.append(...marks);
    }
    this.compare();
  }

  /** The table of the values in which A and B differ. */
  compare() {
    const names = this.variants.map(([id, name]) => `#${id} ${name}`);
    const sides = [0, 1].map((side) => {
      const made = choice("AB"[side], names, names[this.pair[side]], (name) => this.choose(names.indexOf(name), side));
      made.firstChild.replaceWith(make("b", { className: `letter ${"ab"[side]}` }, "AB"[side]), " ");
      return made;
    });
    const focused = this.table.contains(document.activeElement)
      ? [...this.table.querySelectorAll("select")].indexOf(document.activeElement) : -1;
    const [a, b] = this.pair;
    const values = [...this.config.map(([title, texts]) => ({ title, texts, better: "" })), ...this.facts];
    const rows = values.filter(({ texts }) => texts[a] !== texts[b]).map((fact) => {
      const numbers = [a, b].map((index) => fact.values?.[index] ?? null);
      const sign = { low: -1, high: 1 }[fact.better] ?? 0;
      const wins = numbers.includes(null) ? 0 : Math.sign(sign * (numbers[0] - numbers[1]));
      const cells = [a, b].map((index, side) => make("td", { className: wins === 1 - 2 * side ? "best" : "" },
        fact.texts[index] || "-", wins === 1 - 2 * side ? make("b", { title: "the better one" }, "*") : ""));
      return make("tr", {}, make("th", { scope: "row" }, fact.title), ...cells);
    });
    const head = make("tr", {}, ...["", "A", "B"].map((text) => make("th", { scope: "col" }, text)));
    const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
    const equal = values.filter(({ texts }) => texts[a] === texts[b]).map(({ title }) => title);
    this.table.replaceChildren(make("h3", {}, "Compare two variants"), make("div", { className: "tools" }, ...sides),
      a === b ? make("p", {}, "A and B are the same variant.") : rows.length
        ? make("div", { className: "scroll" }, table) : make("p", {}, "No value differs."),
      make("p", { className: "quiet" }, rows.length && equal.length ? `Equal in both: ${equal.join(", ")}` : ""),
      this.more());
    if (focused >= 0) this.table.querySelectorAll("select")[focused].focus();
  }

  /** Where to see why A and B differ. */
  more() {
    const ids = this.pair.map((index) => this.variants[index][0]);
    const pair = this.pairs.find(([, a, b]) => a === ids[0] && b === ids[1]);
    if (pair) return make("p", {}, make("a", { href: `#pair${pair[0]}` }, `Why they differ: pair ${pair[0]}`));
    const command = `irscope why ${this.capture} '#${ids[0]}' '#${ids[1]}'`;
    return make("p", { className: "quiet" }, "Why they differ: ", make("code", {}, command));
  }
}
