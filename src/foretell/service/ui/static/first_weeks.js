// Reads the simulated first weeks into the page that asks whether to make a campaign.
import { drawCharts } from "./draw.js";

const holder = document.getElementById("first-weeks");
if (holder) {
  const fields = new URLSearchParams(new FormData(document.getElementById("made")));
  fields.delete("token");
  fetch(new URL(`../first-weeks?${fields}`, import.meta.url))
    .then(async (answer) => {
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      holder.replaceChildren(...page.body.childNodes);
      drawCharts(holder);
    })
    .catch(() => { holder.textContent = "The simulation is not available now; the campaign can be made without it."; });
}
document.addEventListener("theme", () => drawCharts(document));
