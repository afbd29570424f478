// Follows the log: when the server says that it has moved, the page is read again, and what has
// changed takes the place of what was there. Open details, focus and the chosen signal stay.
import { drawCharts } from "./draw.js";

const status = document.getElementById("live");
const lost = document.getElementById("lost");
let closed = document.querySelector("#banners .closed") !== null; // nothing is new then
let reading = false;
let again = false;
let readAfter = 0; // before this moment the server has nothing newer than what is shown
let waiting = null;

const say = (kind, words) => {
  status.children[0].className = `lamp ${kind}`;
  status.children[1].textContent = words;
};

const sayLive = (words) => say(closed ? "bad" : "good", closed ? "The log is closed" : words);

const stops = "a, button, input, summary, [tabindex]"; // what can have the focus
const isOpen = (part) => [...part.querySelectorAll("details")].map((one) => one.open);

function replace(part, fresh) {
  const open = isOpen(part);
  const focused = part.contains(document.activeElement) ? document.activeElement : null;
  const place = focused ? [...part.querySelectorAll(stops)].indexOf(focused) : -1;
  part.replaceChildren(...fresh.childNodes);
  part.querySelectorAll("details").forEach((one, index) => { one.open = open[index] ?? false; });
  drawCharts(part);
  if (place >= 0) part.querySelectorAll(stops)[place]?.focus({ preventScroll: true });
}

const sources = new Map();
for (const part of document.querySelectorAll("[data-live]")) sources.set(part.id, part.innerHTML);

// Reads the page as soon as there can be something new in it; told again meanwhile, it still reads once.
function refreshInTime() {
  waiting ??= setTimeout(refresh, Math.max(0, readAfter - performance.now()));
}

async function refresh() {
  clearTimeout(waiting);
  waiting = null;
  if (reading) { again = true; return; }
  reading = true;
  try {
    const answer = await fetch(location.pathname, { cache: "no-store", headers: { "X-Refresh": "1" } });
    if (answer.redirected || answer.status === 401 || answer.status === 403) { location.reload(); return; }
    const shown = answer.ok ? "[data-live]" : "#banners"; // a page that says why there is none
    readAfter = performance.now() + 1000 * Number(answer.headers.get("X-Read-Again"));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const fresh of page.querySelectorAll(shown)) {
      const part = document.getElementById(fresh.id);
      if (part && sources.get(fresh.id) !== fresh.innerHTML) {
        sources.set(fresh.id, fresh.innerHTML);
        replace(part, fresh);
      }
    }
    document.dispatchEvent(new CustomEvent("refreshed"));
  } catch {
    // the stream says when the server is there again
  } finally {
    reading = false;
    if (again) { again = false; refresh(); }
  }
}

let stream = null;
let failed = false;

function follow() {
  stream?.close();
  if (document.hidden) return; // a browser has few connections for all of its tabs
  stream = new EventSource(new URL("../stream", import.meta.url));
  const heard = (event) => {
    const told = JSON.parse(event.data);
    closed = told.closed;
    sayLive(`Live, ${told.now.slice(11, 19)} UTC`);
  };
  stream.addEventListener("open", () => {
    sayLive("Live");
    lost.hidden = true;
    if (failed) refresh();
    failed = false;
  });
  stream.addEventListener("moved", (event) => { heard(event); refreshInTime(); });
  stream.addEventListener("changed", (event) => { heard(event); refresh(); });
  stream.addEventListener("beat", heard);
  stream.addEventListener("error", () => {
    failed = true;
    say("bad", "Connection lost");
    lost.hidden = false;
    if (stream.readyState === EventSource.CLOSED) { // refused, not cut: ask again, or for a key
      setTimeout(() => { refresh(); follow(); }, 2000);
    }
  });
}

drawCharts(document);
document.addEventListener("visibilitychange", () => {
  failed = true; // what has moved meanwhile is read when the stream is open again
  follow();
});
document.addEventListener("theme", () => drawCharts(document));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawCharts(document));
follow();
