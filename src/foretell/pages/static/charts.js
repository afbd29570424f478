// Turns every still figure into interactive charts: hover, toggle policies, linear or log scale.
"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const short = (value) =>
    value == null ? "–" : Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);

  const element = (name, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(name), properties);
    node.append(...children);
    return node;
  };

  // Lines of one panel share an x axis: the union of their x values, null where one has none.
  const joined = (series) => {
    const x = [...new Set(series.flatMap((one) => one.x))].sort((a, b) => a - b);
    const columns = series.flatMap((one) => {
      const index = new Map(one.x.map((value, number) => [value, number]));
      const at = (values) => x.map((value) => (index.has(value) ? values[index.get(value)] : null));
      return [at(one.y), at(one.low), at(one.high)];
    });
    return [x, ...columns];
  };

  const swatch = (one) => {
    const dash = one.dash.length ? ` stroke-dasharray="${one.dash.join(" ")}"` : "";
    const holder = element("span");
    holder.innerHTML = `<svg viewBox="0 0 36 10"><line x1="0" y1="5" x2="36" y2="5" ` +
      `stroke="${one.colour}" stroke-width="2.5"${dash}/></svg>`;
    return holder.firstChild;
  };

  const markLines = (marks) => (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = "#888";
    ctx.fillStyle = "#555";
    ctx.setLineDash([2, 4]);
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    for (const [value, word] of marks) {
      const x = plot.valToPos(value, "x", true);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      if (word) {
        ctx.save();
        ctx.translate(x - 4, bbox.top + 4);
        ctx.rotate(-Math.PI / 2);
        ctx.textAlign = "right";
        ctx.fillText(word, 0, 0);
        ctx.restore();
      }
    }
    ctx.restore();
  };

  const panel = (chart, axes, logY, hidden, top) => {
    const holder = element("div", { className: "panel" });
    const readout = element("div", { className: "readout" });
    const series = axes.series.flatMap((one) => {
      const shown = !hidden.has(one.label);
      const line = {
        label: one.label, stroke: one.colour, dash: one.dash, width: 2, show: shown,
        spanGaps: true, points: { show: chart.points, size: 5 },
      };
      const edge = { stroke: "transparent", width: 0, show: shown, points: { show: false }, spanGaps: true };
      return [line, { ...edge }, { ...edge }];
    });
    const bands = axes.series.map((one, index) => ({
      series: [3 * index + 3, 3 * index + 2], fill: one.colour + "2e",
    }));
    const compact = (plot, ticks) => ticks.map((value) =>
      value == null ? null : new Intl.NumberFormat("en", { notation: "compact" }).format(value));
    const options = {
      title: axes.title, width: 320, height: 300, series: [{}, ...series], bands,
      legend: { show: false },
      cursor: { points: { size: 6 } },
      scales: {
        x: { time: false, distr: chart.logX ? 3 : 1 },
        y: { distr: logY ? 3 : 1, range: logY ? undefined : (_, low, high) => [0, Math.max(high, 1e-9) * 1.05] },
      },
      axes: [
        { label: axes.x, values: compact, grid: { stroke: "#e4e4e4" } },
        { label: axes.y, values: compact, grid: { stroke: "#e4e4e4" }, size: 60 },
      ],
      hooks: {
        draw: [markLines(axes.marks)],
        setCursor: [(plot) => {
          const index = plot.cursor.idx;
          if (index == null) { readout.textContent = ""; return; }
          const values = axes.series.filter((one) => !hidden.has(one.label)).map((one) => {
            const column = 3 * axes.series.indexOf(one) + 1;
            const at = (offset) => plot.data[column + offset][index];
            return at(0) == null ? null : `${one.label} ${short(at(0))} [${short(at(1))}, ${short(at(2))}]`;
          });
          readout.textContent = `${axes.x} ${plot.data[0][index].toLocaleString("en")}: ` +
            values.filter(Boolean).join(" · ");
        }],
      },
    };
    if (logY) {
      const positive = axes.series.flatMap((one) => one.y).filter((value) => value > 0);
      options.scales.y.range = [Math.max(Math.min(...positive), top / 1e4), top * 1.2];
    }
    const data = joined(axes.series).map((column, index) =>
      index && logY ? column.map((value) => (value > 0 ? value : null)) : column);
    const plot = new uPlot(options, data, holder);
    new ResizeObserver(() => {
      const width = Math.floor(holder.clientWidth);
      if (width > 100 && width !== plot.width) plot.setSize({ width, height: 300 });
    }).observe(holder);
    holder.append(readout);
    return holder;
  };

  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const chart = charts[figure.dataset.chart];
    const still = figure.querySelector(".still");
    const live = element("div", { className: "live" });
    const hidden = new Set();
    const all = new Map(chart.axes.flatMap((axes) => axes.series).map((one) => [one.label, one]));
    const top = Math.max(...chart.axes.flatMap((axes) => axes.series.flatMap((one) => one.high)));
    let logY = chart.logY;
    const draw = () => live.replaceChildren(
      ...chart.axes.map((axes) => panel(chart, axes, logY, hidden, top)));
    const scale = element("input", { type: "checkbox", checked: logY });
    scale.addEventListener("change", () => { logY = scale.checked; draw(); });
    const toggles = element("div", { className: "toggles" }, ...[...all.values()].map((one) => {
      const box = element("input", { type: "checkbox", checked: true });
      box.addEventListener("change", () => {
        if (box.checked) hidden.delete(one.label); else hidden.add(one.label);
        draw();
      });
      return element("label", {}, box, swatch(one), one.label);
    }));
    const controls = element("div", { className: "controls" },
      element("label", {}, scale, " logarithmic scale"));
    still.style.display = "none";
    still.before(controls, toggles, live);
    draw();
  }
})();
