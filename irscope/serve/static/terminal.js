// The page's terminal (xterm.js), connected to an app on the server by a websocket.
// Messages are described in irscope/serve/app_session.py.

import { Terminal } from "./xterm.mjs";
import { FitAddon } from "./addon-fit.mjs";
import { Unicode11Addon } from "./addon-unicode11.mjs";
import { WebglAddon } from "./addon-webgl.mjs";

const RETRIES = [300, 1000, 2000, 5000]; // ms
const PASTE = 4096; // code points per message
const LOST = "The connection was lost. Connecting again…";
const FINAL = 4000; // close codes from here on have a reason, and end the session for good
const STOPPED = 4004; // except this one: the server may come back
// The browser keeps these: reload, full screen, developer tools, zoom, and paste.
const BROWSER_KEYS = new Set(["F5", "F11", "F12"]);
const BROWSER_CTRL_KEYS = new Set(["v", "V", "+", "-", "=", "0", "C", "I", "R"]);
// For screens without a keyboard: the name of a key, and what a terminal sends for it.
const TOUCH_KEYS = [
  ["⌨", null], ["Esc", "\x1b"], ["Tab", "\t"], ["↑", "\x1b[A"], ["↓", "\x1b[B"], ["←", "\x1b[D"],
  ["→", "\x1b[C"], ["Enter", "\r"], ["[", "["], ["]", "]"], ["/", "/"], ["v", "v"], ["z", "z"], ["?", "?"],
  ["^P", "\x10"], ["q", "q"], ["A−", -1], ["A+", 1],
];

const touch = matchMedia("(pointer: coarse)").matches;
const place = document.getElementById("terminal");
const notice = document.getElementById("notice");
const terminal = new Terminal({
  allowProposedApi: true,
  fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "Roboto Mono", "DejaVu Sans Mono", "Liberation Mono", monospace',
  fontSize: fontSize(),
  scrollback: 0,
  macOptionIsMeta: true,
  theme: { background: "#121212", foreground: "#e0e0e0" },
});
const fit = new FitAddon();
let socket = null;
let attempts = 0;
let retry = 0;
let file = null; // the one that the server is sending

function fontSize() {
  const asked = Number(new URLSearchParams(location.search).get("fontsize") || localStorage.getItem("fontsize"));
  return asked >= 6 && asked <= 40 ? asked : touch ? 11 : 14;
}

function size() {
  return { width: terminal.cols, height: terminal.rows };
}

function send(...message) {
  if (socket !== null && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

function type(text) {
  const points = Array.from(text);
  for (let start = 0; start < points.length; start += PASTE) {
    send("stdin", points.slice(start, start + PASTE).join(""));
  }
}

function connect() {
  clearTimeout(retry);
  const url = new URL("ws", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.search = new URLSearchParams(size());
  url.hash = "";
  const opened = new WebSocket(url);
  opened.binaryType = "arraybuffer";
  opened.addEventListener("open", () => {
    terminal.reset();
    fit.fit();
    send("resize", size());
    if (document.hasFocus()) send("focus");
  });
  opened.addEventListener("message", ({ data }) => receive(data));
  opened.addEventListener("close", closed);
  socket = opened;
}

function receive(data) {
  if (typeof data !== "string") {
    const bytes = new Uint8Array(data);
    if (bytes[0] === 0x44) {
      if (!notice.hidden) notice.hidden = true;
      attempts = 0;
      terminal.write(bytes.subarray(1));
    } else if (file !== null) {
      file.parts.push(bytes.slice(1));
    }
    return;
  }
  const [kind, message] = JSON.parse(data);
  if (kind === "file_start") file = { name: message.name, parts: [] };
  else if (kind === "file_end" && file !== null) save();
  else if (kind === "open_url" && /^https?:/.test(message.url)) window.open(message.url, "_blank", "noopener");
}

function save() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(file.parts, { type: "application/octet-stream" }));
  link.download = file.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  file = null;
}

function closed(event) {
  if (event.target !== socket) return;
  socket = null;
  file = null;
  if (event.code >= FINAL && event.code !== STOPPED) {
    show(event.reason, true);
    return;
  }
  show(event.code === STOPPED ? `${event.reason} Waiting for it to start again…` : LOST, false);
  retry = setTimeout(connect, RETRIES[Math.min(attempts++, RETRIES.length - 1)]);
}

function show(text, canStart) {
  const again = document.getElementById("again");
  document.getElementById("reason").textContent = text;
  again.hidden = !canStart;
  notice.hidden = false;
  if (canStart) again.focus();
}

function connectNow() {
  if (socket === null && document.getElementById("again").hidden && document.visibilityState === "visible") connect();
}

function copy(text) {
  const old = () => {
    // Without https, a page has no clipboard but for this.
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    terminal.focus();
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).catch(old);
  else old();
}

function isForBrowser(event) {
  if (BROWSER_KEYS.has(event.key) || event.metaKey) return true;
  if (!event.ctrlKey || event.altKey) return false;
  if (event.key === "c") return terminal.hasSelection();
  return BROWSER_CTRL_KEYS.has(event.key);
}

function addTouchKeys() {
  const bar = document.getElementById("keys");
  bar.hidden = false;
  for (const [name, sent] of TOUCH_KEYS) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays where it is
    button.addEventListener("click", () => {
      if (typeof sent === "string") type(sent);
      else if (typeof sent === "number") zoom(sent);
      else toggleKeyboard();
    });
    bar.append(button);
  }
}

// A tap clicks; only the button shows the keyboard, which covers half of the screen.
function toggleKeyboard() {
  const area = terminal.textarea;
  area.inputMode = area.inputMode === "none" ? "text" : "none";
  terminal.blur(); // the keyboard changes with the focus
  terminal.focus();
}

function zoom(step) {
  terminal.options.fontSize = Math.min(40, Math.max(6, terminal.options.fontSize + step));
  localStorage.setItem("fontsize", terminal.options.fontSize);
  fit.fit();
}

// A finger scrolls as a wheel does; xterm.js has none for apps that use the mouse.
function scrollWithFinger() {
  let last = null;
  let left = 0;
  place.addEventListener("touchstart", (event) => {
    last = event.touches.length === 1 ? event.touches[0] : null;
    left = 0;
  }, { passive: true });
  place.addEventListener("touchmove", (event) => {
    if (last === null || event.touches.length !== 1) return;
    const touched = event.touches[0];
    const box = place.getBoundingClientRect();
    const cell = { width: box.width / terminal.cols, height: box.height / terminal.rows };
    left += last.clientY - touched.clientY;
    last = touched;
    const column = Math.max(1, Math.ceil((touched.clientX - box.left) / cell.width));
    const row = Math.max(1, Math.ceil((touched.clientY - box.top) / cell.height));
    for (; Math.abs(left) >= cell.height; left -= Math.sign(left) * cell.height) {
      send("stdin", `\x1b[<${left > 0 ? 65 : 64};${column};${row}M`);
    }
    event.preventDefault();
  }, { passive: false });
}

terminal.loadAddon(fit);
terminal.loadAddon(new Unicode11Addon());
terminal.unicode.activeVersion = "11";
terminal.open(place);
try {
  // Phones take its memory away from pages in the background.
  const webgl = touch ? null : new WebglAddon();
  webgl?.onContextLoss(() => webgl.dispose());
  if (webgl) terminal.loadAddon(webgl);
} catch {
  // xterm.js's own renderer is slower, and draws the same.
}
terminal.attachCustomKeyEventHandler((event) => !isForBrowser(event));
terminal.parser.registerOscHandler(52, (content) => {
  const encoded = content.slice(content.indexOf(";") + 1);
  if (encoded === "?") return true; // the clipboard is never read
  copy(new TextDecoder().decode(Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0))));
  return true;
});
terminal.onData(type);
terminal.onResize(() => send("resize", size()));
terminal.textarea.addEventListener("focus", () => send("focus"));
new ResizeObserver(() => fit.fit()).observe(place);
document.getElementById("again").addEventListener("click", () => location.reload());
document.addEventListener("visibilitychange", connectNow);
addEventListener("online", connectNow);
// Ctrl+W closes a tab, and no page can keep it; the app has it in its prompts.
let ctrl = false;
for (const kind of ["keydown", "keyup"]) addEventListener(kind, (event) => (ctrl = event.ctrlKey), true);
addEventListener("beforeunload", (event) => {
  if (ctrl && socket !== null) event.preventDefault();
});
if (touch) {
  terminal.textarea.inputMode = "none";
  addTouchKeys();
  // Safari's keyboard covers the page instead of making it smaller.
  visualViewport?.addEventListener("resize", () => {
    document.body.style.height = `${visualViewport.height}px`;
  });
  scrollWithFinger();
} else {
  terminal.focus();
}
fit.fit();
connect();
