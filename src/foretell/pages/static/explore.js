// The figure to explore: sliders move through cells that were run beforehand; bars show regret.
"use strict";
(() => {
  const element = (name, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(name), properties);
    node.append(...children);
    return node;
  };
  const bar = (share, low, high, colour) => {
    const percent = (value) => `${(100 * value).toFixed(2)}%`;
    const track = element("div", { className: "track" });
    const mean = element("div", { className: "mean" });
    mean.style.width = percent(share);
    mean.style.background = colour;
    const interval = element("div", { className: "interval" });
    interval.style.left = percent(low);
    interval.style.width = percent(Math.max(0, high - low));
    track.append(mean, interval);
    return track;
  };

  for (const figure of document.querySelectorAll("figure[data-explorer]")) {
    const { sliders, rows } = JSON.parse(figure.querySelector("script").textContent);
    const most = Math.max(...rows.flatMap((row) => Object.values(row.cells).map((cell) => cell[2])));
    const place = Object.fromEntries(sliders.map((one) => [one.name, one.start]));
    const value = (one) => one.values[place[one.name]];
    const body = element("tbody");
    const said = element("p", { className: "said" });
    said.setAttribute("aria-live", "polite");

    const draw = () => {
      const found = rows.map((row) => {
        const key = sliders.filter((one) => row.follows.includes(one.name)).map(value).join(",");
        return { ...row, cell: row.cells[key] };
      });
      body.replaceChildren(...found.map((row) => {
        const [mean, low, high] = row.cell;
        const name = element("th", { scope: "row" }, row.label);
        const number = element("td", { className: "number" },
          `${Math.round(mean).toLocaleString("en")} [${Math.round(low).toLocaleString("en")}, ${Math.round(high).toLocaleString("en")}]`);
        const drawn = element("td", { className: "bar" },
          bar(mean / most, low / most, high / most, row.colour));
        return element("tr", {}, name, number, drawn);
      }));
      const fair = found.filter((row) => !row.label.startsWith("oracle"));
      const best = fair.reduce((one, other) => (other.cell[0] < one.cell[0] ? other : one));
      const places = sliders.map((one) => `${one.name} ${value(one).toLocaleString("en")}`);
      said.textContent = `${places.join(", ")}: of the policies that are told nothing, ` +
        `${best.label} has the least regret.`;
    };

    const controls = sliders.map((one) => {
      const shown = element("output", {}, value(one).toLocaleString("en"));
      const input = element("input", {
        type: "range", min: 0, max: one.values.length - 1, step: 1, value: one.start,
      });
      const tell = () => {
        shown.textContent = value(one).toLocaleString("en");
        input.setAttribute("aria-valuetext", shown.textContent);
      };
      input.addEventListener("input", () => {
        place[one.name] = Number(input.value);
        tell();
        draw();
      });
      tell();
      return element("label", {}, `${one.name} `, input, " ", shown);
    });
    const head = element("thead", {}, element("tr", {},
      element("th", {}, "policy"), element("th", {}, "regret"), element("th", {}, "")));
    figure.querySelector("h2").after(
      element("div", { className: "sliders" }, ...controls), said,
      element("table", { className: "explore" }, head, body));
    draw();
  }
})();
