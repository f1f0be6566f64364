// The diff of a stage: unpacked when it comes into view, and its rows made a block at a time. Texts of the
// capture only ever become text nodes.
"use strict";

/** Rows made at a time, equal rows around a change, characters of a line before it is cut. */
const CHUNK = 80, CONTEXT = 3, LONGEST = 500;
/** Frames for which a line is kept in view while what is around it is laid out. */
const FRAMES = 8;
/** Tokens of all stages: comment, string, value or register, layout or symbol, number, word. */
const TOKEN = new RegExp([
  /(\/\/.*|(?<=^|\s);.*$|^\s*#loc.*)/, /("[^"]*")/, /([%$][\w.$-]+(?:#\d+)?)/, /([#@!][\w.$]+)/,
  /(\b(?:0x[\da-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)\b)/, /([A-Za-z_][\w.:]*)/,
].map((token) => token.source).join("|"), "gi");
const TOKEN_CLASSES = ["comment", "string", "value", "symbol", "number"];

/** @param {string} name @param {object} properties @param {...(Node|string)} children */
function make(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** The data in the element with this id: payload.py packed it. */
async function unpacked(id) {
  const packed = document.getElementById(id).textContent;
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** A line's text with its tokens and its changed stretches marked, cut around the first change.
 * @param {string} text @param {number[][]} spans @param {boolean} whole */
function code(text, spans, whole) {
  const made = make("code", {});
  let from = 0, to = text.length;
  if (!whole && to > LONGEST) {
    from = spans.length && spans[0][0] > LONGEST / 2 ? spans[0][0] - LONGEST / 4 : 0;
    to = Math.min(to, from + LONGEST);
  }
  const put = (start, end, name) => {
    const marks = spans.filter(([a, b]) => a < end && b > start);
    for (const edge of [...marks.flat(), end]) {
      const stop = Math.min(Math.max(edge, start), end);
      if (stop === start) continue;
      const inside = marks.some(([a, b]) => a <= start && stop <= b);
      const piece = text.slice(start, stop);
      made.append(name || inside ? make(inside ? "mark" : "span", { className: name }, piece) : piece);
      start = stop;
    }
  };
  let at = from;
  for (const match of text.slice(from, to).matchAll(TOKEN)) {
    const start = from + match.index, end = start + match[0].length;
    const group = match.slice(1).findIndex(Boolean);
    const opcode = group === 5 && match[0].includes(".");
    put(at, start, "");
    put(start, end, opcode ? "opcode" : TOKEN_CLASSES[group] ?? "");
    at = end;
  }
  put(at, to, "");
  if (from) made.prepend("\u2026 ");
  const left = text.length - (to - from);
  if (left) {
    const words = `\u2026 ${left.toLocaleString("en")} more characters`;
    const more = make("button", { type: "button", className: "more" }, words);
    more.onclick = () => made.replaceWith(code(text, spans, true));
    made.append(more);
  }
  return made;
}

/** The diff of one stage of one pair. */
class Stage {
  static all = new Map();
  static seen = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => entry.target.fill?.()),
    { rootMargin: "600px" },
  );

  /** @param {HTMLDetailsElement} details */
  constructor(details) {
    this.details = details;
    this.view = details.querySelector(".view");
    this.pair = details.closest(".pair");
    this.row = -1;
    Stage.all.set(details.id, this);
    this.view.fill = () => this.load();
    Stage.seen.observe(this.view);
    details.addEventListener("toggle", () => details.open && this.load());
  }

  /** Unpacks the data, once, and lays out the rows. */
  load() {
    return (this.loading ??= this.unpack());
  }

  async unpack() {
    Object.assign(this, await unpacked(`${this.details.id}-data`));
    this.rowOf = [[], []];
    this.lines = this.rows.map((row, index) =>
      [0, 1].map((side) => (row.length === 2 || row[1 + side] !== null ? this.rowOf[side].push(index) - 1 : -1)));
    const begins = (row, index) => row[0] && !this.rows[index - 1]?.[0];
    this.changes = this.rows.flatMap((row, index) => (begins(row, index) ? [index] : []));
    this.view.append(this.tools());
    this.blocks = [];
    let start = 0;
    for (const [first, last] of this.folds()) {
      this.add(start, first);
      this.fold(first, last);
      start = last;
    }
    this.add(start, this.rows.length);
  }

  /** The stretches of equal rows that are folded. */
  folds() {
    const found = [];
    let start = 0;
    for (let end = 0; end <= this.rows.length; end++) {
      if (end < this.rows.length && !this.rows[end][0]) continue;
      const first = start ? start + CONTEXT : 0;
      const last = end < this.rows.length ? end - CONTEXT : end;
      if (last - first > 1 && this.changes.length) found.push([first, last]);
      start = end + 1;
    }
    return found;
  }

  tools() {
    const button = (text, title, action) => make("button", { type: "button", title, onclick: action }, text);
    return make("div", { className: "tools" },
      button("\u2191 Change", "the one before: [", () => this.step(-1)),
      button("\u2193 Change", "the next one: ]", () => this.step(1)),
      button("One or two columns", "A above B, or next to it", () => this.view.classList.toggle("unified")),
      button("Unfold all", "show all equal rows", () => this.blocks.forEach((block) => block.open?.())),
      this.changes.length ? "" : " No row differs.");
  }

  /** Blocks of rows from `start` to before `end`, filled when they come into view. */
  add(start, end, before = null) {
    for (; start < end; start += CHUNK) {
      const block = { start, end: Math.min(start + CHUNK, end), element: make("div", { className: "rows" }) };
      block.element.style.minHeight = `${1.5 * (block.end - block.start)}em`;
      block.element.fill = () => this.fill(block);
      this.view.insertBefore(block.element, before);
      this.blocks.push(block);
      Stage.seen.observe(block.element);
    }
  }

  fold(start, end) {
    const text = `\u22ef ${(end - start).toLocaleString("en")} equal rows`;
    const element = make("button", { type: "button", className: "fold" }, text);
    const block = { start, end, element };
    block.open = element.onclick = () => {
      this.blocks.splice(this.blocks.indexOf(block), 1);
      this.add(start, end, element);
      element.remove();
    };
    this.view.append(element);
    this.blocks.push(block);
  }

  fill(block) {
    if (block.filled) return;
    block.filled = true;
    Stage.seen.unobserve(block.element);
    for (let index = block.start; index < block.end; index++) block.element.append(this.draw(index));
    block.element.style.minHeight = "";
  }

  /** The element of a row: both sides, each with its number, a sign and its text. */
  draw(index) {
    const [change, left, right = left, ...spans] = this.rows[index];
    const kinds = this.kinds.filter((_, bit) => change & (1 << bit));
    const both = left !== null && right !== null;
    const moved = kinds.includes("moved");
    const quiet = both && change && !spans.length && (left === right || kinds.join() === "layout");
    const halves = [left, right].map((text, side) => {
      const name = `half ${"ab"[side]}`;
      if (text === null) return make("div", { className: `${name} none` });
      const sign = !change ? " " : moved ? ">" : quiet ? "~" : "-+"[side];
      const line = this.lines[index][side] + 1;
      const href = `#${this.details.id}-${"ab"[side]}${line}`;
      const number = make("a", { className: "at", href }, `${line}`);
      const marks = make("span", { className: "sign", title: kinds.join(", ") }, sign);
      const half = make("div", { className: name }, number, marks, code(text, spans[side] ?? [], false));
      half.classList.toggle("lit", this.isLit(side, line - 1));
      half.addEventListener("click", (event) => {
        if (event.target.closest("a, button") || !getSelection().isCollapsed) return;
        trace(this.pair, this.source(side, line - 1));
      });
      return half;
    });
    const name = !change ? "equal" : quiet ? "quiet-row" : both || moved ? "both" : left === null ? "new" : "gone";
    const made = make("div", { className: `row ${name}` }, ...halves);
    made.id = `${this.details.id}-row${index}`;
    made.classList.toggle("proof", Boolean(this.proofs?.has(index)));
    return made;
  }

  /** The element of a row, if it has been made. */
  element(index) {
    return document.getElementById(`${this.details.id}-row${index}`);
  }

  /** The lines of Python that a line came from, the innermost first. */
  source(side, line) {
    return this.chains[this.origins[side][line]] ?? [];
  }

  /** Whether a line came from the line of Python that is lit. */
  isLit(side, line) {
    return line >= 0 && this.pair.lit !== undefined && this.source(side, line).includes(this.pair.lit);
  }

  /** Lights the lines on both sides that are to be; how many they are on each, and the rows they are in. */
  light() {
    const counts = [0, 0];
    const rows = this.lines.flatMap((lines, index) => {
      const lit = lines.map((line, side) => this.isLit(side, line));
      lit.forEach((one, side) => { counts[side] += one; });
      if (!lit.includes(true)) return [];
      lit.forEach((one, side) => this.element(index)?.children[side].classList.toggle("lit", one));
      return [index];
    });
    return { counts, rows };
  }

  /** Brings a row into view, out of its fold if it is in one. */
  async show(index) {
    this.details.open = true;
    await this.load();
    const holds = (block) => block.start <= index && index < block.end;
    this.blocks.find(holds)?.open?.();
    const block = this.blocks.find(holds);
    if (!block) return;
    this.fill(block);
    this.row = index;
    const row = this.element(index);
    // What comes into view above it may change in height.
    let frames = FRAMES;
    const settle = () => {
      row.scrollIntoView({ block: "center" });
      if (frames--) requestAnimationFrame(settle);
    };
    settle();
    Stage.current = this;
  }

  /** Marks the lines that prove something and shows the first. */
  async prove(side, lines) {
    await this.load();
    this.proofs = new Set(lines.map((line) => this.rowOf[side][line - 1]));
    for (const row of document.querySelectorAll(".row.proof")) row.classList.remove("proof");
    for (const index of this.proofs) this.element(index)?.classList.add("proof");
    await this.show(this.rowOf[side][lines[0] - 1]);
  }

  step(by) {
    const ahead = this.changes.filter((index) => (by > 0 ? index > this.row : index < this.row));
    if (ahead.length) this.show(by > 0 ? ahead[0] : ahead[ahead.length - 1]);
  }
}
