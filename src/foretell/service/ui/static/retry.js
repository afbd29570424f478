// On the page of a problem that passes: opens the page again as soon as the server can make it.
const every = 3000; // milliseconds
const lost = document.getElementById("lost");

async function look() {
  try {
    const answer = await fetch(location.href, { method: "HEAD", cache: "no-store" });
    lost.hidden = true;
    if (answer.status !== 503) { location.reload(); return; }
  } catch {
    lost.hidden = false;
  }
  setTimeout(look, every);
}

setTimeout(look, every);
