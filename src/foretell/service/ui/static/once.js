// Sends a form once, however often its button is pressed, until the page is shown again.
"use strict";
(() => {
  const sent = new WeakSet();
  document.addEventListener("submit", (event) => {
    if (sent.has(event.target)) event.preventDefault();
    sent.add(event.target);
  });
  addEventListener("pageshow", () => { for (const form of document.forms) sent.delete(form); });
})();
