// Moves between slides: keys, swipes, links, an overview, and a speaker's window that moves with this one.

const root = document.documentElement;
const slides = [...document.querySelectorAll(".slide")];
const fragments = slides.map((slide) => [...slide.querySelectorAll(".fragment")]);
// The open slide, how many of its fragments are shown, and the speaker's window or the window that opened it.
let open = 0, shown = 0, other = null;

/** Opens a slide with so many of its fragments uncovered, here and in the other window. */
function show(index, uncovered = 0, tell = true) {
  open = Math.min(Math.max(index, 0), slides.length - 1);
  shown = Math.min(Math.max(uncovered, 0), fragments[open].length);
  slides.forEach((slide, place) => {
    slide.classList.toggle("current", place === open);
    slide.classList.toggle("next", place === open + 1);
    fragments[place].forEach((one, order) => one.classList.toggle("shown", place < open || (place === open && order < shown)));
  });
  history.replaceState(null, "", root.classList.contains("speaker") ? "#speaker" : `#${slides[open].id}`);
  if (root.classList.contains("overview")) slides[open].scrollIntoView({ block: "nearest" });
  else scrollTo(0, 0);
  if (tell && other && !other.closed) other.postMessage({ open, shown }, "*");
}

const forward = () => (shown < fragments[open].length ? show(open, shown + 1) : open < slides.length - 1 && show(open + 1));
const back = () => (shown ? show(open, shown - 1) : open && show(open - 1, fragments[open - 1].length));

/** Shrinks the text of slides that have more than fits; at the size of a page, which suits every size. */
function fit() {
  root.classList.add("measuring");
  for (const slide of slides) {
    const body = slide.querySelector(".body");
    let size = 1;
    slide.style.removeProperty("--fit");
    while (size > 0.5 && (body.scrollHeight > body.clientHeight + 1 || body.scrollWidth > body.clientWidth + 1)) {
      size -= 0.04;
      slide.style.setProperty("--fit", size.toFixed(2));
    }
  }
  root.classList.remove("measuring");
}

function overview() {
  root.classList.toggle("overview");
  show(open, shown);
}

/** Opens a window with the notes; if the browser forbids it, shows them here. */
function speak() {
  other = window.open(`${location.href.split("#")[0]}#speaker`, "irscope-speaker", "width=1200,height=800");
  if (!other) root.classList.add("show-notes");
}

function theme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

function help() {
  const dialog = document.querySelector(".help");
  dialog.open ? dialog.close() : dialog.showModal();
}

const rows = () => Math.max(1, slides.filter((slide) => slide.offsetTop === slides[0].offsetTop).length);
const fullscreen = () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen?.());
const keys = {
  ArrowRight: forward, " ": forward, PageDown: forward, Enter: forward, l: forward,
  ArrowLeft: back, PageUp: back, Backspace: back, h: back, ArrowDown: forward, ArrowUp: back,
  Home: () => show(0), End: () => show(slides.length - 1), o: overview, s: speak, d: theme, f: fullscreen, "?": help,
  n: () => root.classList.toggle("show-notes"), b: () => root.classList.toggle("black"),
};
const overviewKeys = {
  ArrowRight: () => show(open + 1), ArrowLeft: () => show(open - 1),
  ArrowDown: () => show(open + rows()), ArrowUp: () => show(open - rows()),
  Enter: overview, " ": overview, Escape: overview,
};

function press(key) {
  if (root.classList.contains("black") && key !== "b") return root.classList.remove("black");
  if (document.querySelector(".help").open && key !== "?") return;
  (root.classList.contains("overview") && overviewKeys[key] ? overviewKeys : keys)[key]?.();
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if ([" ", "Enter"].includes(event.key) && event.target.closest?.("button")) return;
  if (event.key in keys || (event.key in overviewKeys && root.classList.contains("overview"))) event.preventDefault();
  press(event.key);
});
document.querySelector(".controls").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) press(button.dataset.key);
});
document.querySelector("main").addEventListener("click", (event) => {
  const slide = event.target.closest(".slide");
  if (!slide || !root.classList.contains("overview")) return;
  show(slides.indexOf(slide));
  overview();
});

// A swipe is horizontal and longer than 40 pixels; not within something that itself scrolls sideways.
let touch = null;
addEventListener("touchstart", (event) => {
  const scroller = event.target.closest?.(".scroll");
  const scrolls = scroller && scroller.scrollWidth > scroller.clientWidth;
  touch = event.touches.length === 1 && !scrolls ? event.touches[0] : null;
}, { passive: true });
addEventListener("touchend", (event) => {
  if (!touch) return;
  const { clientX, clientY } = event.changedTouches[0];
  const [across, down] = [clientX - touch.clientX, clientY - touch.clientY];
  if (Math.abs(across) > 40 && Math.abs(across) > 1.5 * Math.abs(down)) across < 0 ? forward() : back();
});

// The other window says where it is; its numbers are checked, because any page can send messages.
addEventListener("message", ({ source, data }) => {
  if (!other || source !== other) return;
  if (data === "hello") other.postMessage({ open, shown }, "*");
  else if (Number.isInteger(data?.open) && Number.isInteger(data?.shown)) show(data.open, data.shown, false);
});
addEventListener("hashchange", () => show(slides.findIndex((slide) => `#${slide.id}` === location.hash)));

root.classList.add("js");
if (location.hash === "#speaker" && opener) {
  root.classList.add("speaker");
  other = opener;
  const clock = document.body.appendChild(Object.assign(document.createElement("div"), { className: "clock" }));
  const start = Date.now();
  const tick = () => {
    const seconds = Math.floor((Date.now() - start) / 1000);
    clock.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  };
  tick();
  setInterval(tick, 1000);
}
fit();
show(slides.findIndex((slide) => `#${slide.id}` === location.hash), 0, false);
if (root.classList.contains("speaker")) other.postMessage("hello", "*");
