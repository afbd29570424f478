// On a page with a form: says when the server is away, and keeps what was typed until it is back.
const lost = document.getElementById("lost");
let stream = null;

function follow() {
  stream?.close();
  if (document.hidden) return; // a browser has few connections for all of its tabs
  stream = new EventSource(new URL("../stream", import.meta.url));
  stream.addEventListener("open", () => { lost.hidden = true; });
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, 2000); // refused, not cut
    else lost.hidden = false;
  });
}

document.addEventListener("submit", (event) => {
  if (lost.hidden) return;
  event.preventDefault();
  event.stopImmediatePropagation(); // so that it is not taken for sent
  lost.scrollIntoView();
}, true);
document.addEventListener("visibilitychange", follow);
follow();
