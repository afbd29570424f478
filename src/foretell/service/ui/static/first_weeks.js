// Reads the simulated first weeks into the page that asks whether to make a campaign.
import { drawCharts } from "./draw.js";

const holder = document.getElementById("first-weeks");
if (holder) {
  const fields = new URLSearchParams(new FormData(document.getElementById("made")));
  fields.delete("token");
  const ask = () => fetch(new URL(`../first-weeks?${fields}`, import.meta.url));
  const wait = () => new Promise((go) => { setTimeout(go, 3000); });
  const askAgain = async (answer, tries) => { // another simulation may be running
    if (answer.status !== 429 || !tries) return answer;
    await wait();
    return askAgain(await ask(), tries - 1);
  };
  ask()
    .then((answer) => askAgain(answer, 10))
    .then(async (answer) => {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!answer.ok) {
        holder.textContent = `${page.querySelector("main .lead")?.textContent ?? "The simulation is not available now."} The campaign can be made without it.`;
        return;
      }
      holder.replaceChildren(...page.body.childNodes);
      drawCharts(holder);
    })
    .catch(() => { holder.textContent = "The simulation is not available now; the campaign can be made without it."; });
}
document.addEventListener("theme", () => drawCharts(document));
