// What the page does beyond being read: sorts and filters tables, leads from a line of Python to what it
// became and back, and follows links to lines. diff.js stands before this in the same script.

/** Lights what a line of Python became in every stage of its pair, and lists it at the foot of the page. */
async function trace(pair, chain) {
  const bar = document.querySelector(".trace");
  pair.lit = chain[0];
  for (const lit of document.querySelectorAll(".lit")) lit.classList.remove("lit");
  for (const id of chain) document.getElementById(`${pair.id}-s${id}`)?.classList.add("lit");
  bar.hidden = !chain.length;
  if (!chain.length) return;
  const stages = [...Stage.all.values()].filter((stage) => stage.pair === pair);
  await Promise.all(stages.map((stage) => stage.load()));
  const source = document.getElementById(`${pair.id}-s${chain[0]}`);
  const [number, python] = [...source.cells].map((cell) => cell.textContent.trim());
  const link = make("a", { href: `#${source.id}` }, `Python line ${number}`);
  bar.replaceChildren(link, " ", make("code", {}, python));
  for (const stage of stages) {
    const { counts, rows } = stage.light();
    const name = stage.details.id.slice(pair.id.length + 1);
    const next = () => stage.show(rows.find((index) => index > stage.row) ?? rows[0]);
    const words = `${name} ${counts.join(" \u00b7 ")}`;
    bar.append(make("button", { type: "button", disabled: !rows.length, onclick: next }, words));
  }
  bar.append(make("button", { type: "button", ariaLabel: "Close", onclick: () => trace(pair, []) }, "\u00d7"));
}

/** Follows a link to a line of a stage or of the Python. */
function follow(hash, ranges) {
  const line = /^#(pair\d+-\w+)-([ab])(\d+)$/.exec(hash);
  const source = /^#(pair\d+)-s(\d+)$/.exec(hash);
  if (line && Stage.all.has(line[1])) {
    const lines = (ranges ?? line[3]).split(",").flatMap((range) => {
      const [first, last = first] = range.split("-").map(Number);
      return Array.from({ length: last - first + 1 }, (_, place) => first + place);
    });
    Stage.all.get(line[1]).prove(line[2] === "a" ? 0 : 1, lines);
  } else if (source) {
    document.getElementById(hash.slice(1))?.closest("details")?.setAttribute("open", "");
    trace(document.getElementById(source[1]), [Number(source[2])]);
  }
}

/** Makes a table's headings sort it, and its filter filter it. */
function enliven(section) {
  const table = section.querySelector("table.facts");
  const body = table.tBodies[0];
  for (const [column, heading] of [...table.tHead.rows[0].cells].entries()) {
    const button = make("button", { type: "button" }, ...heading.childNodes);
    button.onclick = () => {
      const down = heading.ariaSort === "ascending";
      for (const other of table.tHead.rows[0].cells) other.ariaSort = null;
      heading.ariaSort = down ? "descending" : "ascending";
      const rows = [...body.rows].map((row) => {
        const { textContent: text, dataset } = row.cells[column];
        const unknown = text === "" || text === "?";
        const last = 2 * row.classList.contains("problem") + unknown;
        return { row, text, unknown, last, value: parseFloat(dataset.v) };
      });
      const order = (a, b) => (a.value - b.value || a.text.localeCompare(b.text)) * (down ? -1 : 1);
      rows.sort((a, b) => a.last - b.last || (a.unknown ? 0 : order(a, b)));
      body.append(...rows.map(({ row }) => row));
    };
    heading.replaceChildren(button);
  }
  const filter = section.querySelector(".filter");
  filter.oninput = () => {
    const words = filter.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
    for (const row of body.rows) {
      const parts = row.dataset.name.toLowerCase().split(",");
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => (word.includes("=") ? parts.includes(word) : text.includes(word)));
    }
    const shown = [...body.rows].filter((row) => !row.hidden).length;
    section.querySelector(".shown").textContent = `${shown} of ${body.rows.length} variants`;
  };
}

document.documentElement.classList.add("js");
document.body.append(make("div", { className: "trace", hidden: true, role: "status" }));
document.querySelectorAll("details.stage").forEach((details) => new Stage(details));
document.querySelectorAll("section:has(table.facts)").forEach(enliven);
document.querySelectorAll(".plots").forEach((plots) => new Charts(plots));
for (const table of document.querySelectorAll("table.source")) {
  // Of a kernel's Python the parameters come first; the work is further down.
  const first = [...table.rows].find((row) => row.querySelector("td.work")?.textContent);
  if (first) table.parentElement.scrollTop = first.offsetTop - 2 * first.offsetHeight;
}
document.querySelector(".theme").onclick = () => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = (root.dataset.theme ?? system) === "dark" ? "light" : "dark";
};
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#pair']");
  const row = event.target.closest("table.source tr[id]");
  if (link && location.hash === link.hash) follow(link.hash, link.dataset.lines);
  else if (link) pending = link.dataset.lines;
  else if (row && getSelection().isCollapsed) follow(`#${row.id}`);
});
let pending;
addEventListener("hashchange", () => {
  follow(location.hash, pending);
  pending = undefined;
});
addEventListener("keydown", (event) => {
  if (event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  const stage = Stage.current ?? [...Stage.all.values()].find((one) => one.details.open);
  if (event.key === "]" || event.key === "[") stage?.step(event.key === "]" ? 1 : -1);
  if (event.key !== "Escape") return;
  document.querySelectorAll(".pair").forEach((pair) => pair.lit !== undefined && trace(pair, []));
});
/** What was folded before printing. */
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("main details:not([open], .library)")];
  for (const details of folded) details.open = true;
  for (const stage of Stage.all.values()) stage.blocks?.forEach((block) => !block.open && stage.fill(block));
});
addEventListener("afterprint", () => {
  for (const details of folded) details.open = false;
});
/** Unpacks everything, one after the other: a browser that prints does not wait. */
async function loadAll() {
  const stages = [...Stage.all.values()].sort((a, b) => b.details.open - a.details.open);
  for (const one of [...Charts.all, ...stages]) await one.load();
}
/** Draws the charts, then follows the link: what comes above a line later would move it. */
async function start() {
  for (const charts of Charts.all) await charts.load();
  if (location.hash) follow(location.hash);
  setTimeout(loadAll);
}
document.querySelector(".print").onclick = async () => {
  await loadAll();
  print();
};
start();
