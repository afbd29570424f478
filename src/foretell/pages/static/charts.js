// Turns every still figure into interactive charts: hover, toggle policies, linear or log scale.
"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const short = (value) =>
    value == null ? "–" : Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);

  // Exact labels: 1250 is "1,250". Whole millions are short, 20,000,000 is "20M".
  const exact = (value) => {
    if (value == null) return null;
    const rounded = Number(value.toPrecision(12));
    const millions = Math.abs(rounded) >= 1e6 && rounded % 1e5 === 0;
    return millions ? `${rounded / 1e6}M` : rounded.toLocaleString("en", { maximumFractionDigits: 6 });
  };
  // Round ticks on a log axis: 1 to 9 of each decade, with labels at 1, 2 and 5 where they fit.
  const decade = (value) => 10 ** Math.floor(Math.log10(value) + 1e-9);
  const logTicks = (_plot, _axis, low, high) => {
    const ticks = [];
    for (let power = decade(low); power <= high; power *= 10)
      for (let digit = 1; digit <= 9; digit += 1)
        if (digit * power >= low && digit * power <= high) ticks.push(digit * power);
    return ticks;
  };
  const logLabels = (_plot, ticks) => {
    const kept = Math.max(...ticks) / Math.min(...ticks) > 200 ? [1] : [1, 2, 5];
    return ticks.map((value) => (kept.includes(Math.round(value / decade(value))) ? exact(value) : null));
  };
  const ticks = (log) => log
    ? { splits: logTicks, values: logLabels, filter: (_plot, splits) => splits }
    : { values: (_plot, splits) => splits.map(exact) };

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

  const height = 280;
  const panel = (chart, axes, logY, hidden, { bottom, least, top }) => {
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
    const options = {
      title: axes.title, width: 320, height, series: [{}, ...series], bands,
      legend: { show: false },
      cursor: { points: { size: 6 } },
      scales: {
        x: { time: false, distr: chart.logX ? 3 : 1 },
        y: { distr: logY ? 3 : 1, range: logY ? [bottom * 0.9, top * 1.1] : [Math.min(0, least), top * 1.05] },
      },
      axes: [
        { label: axes.x, ...ticks(chart.logX), grid: { stroke: "#e4e4e4" }, space: 56, font: "11px system-ui, sans-serif" },
        { label: axes === chart.axes[0] ? axes.y : undefined, ...ticks(logY), grid: { stroke: "#e4e4e4" }, size: 60, font: "11px system-ui, sans-serif" },
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
    const data = joined(axes.series).map((column, index) =>
      index && logY ? column.map((value) => (value > 0 ? value : null)) : column);
    const plot = new uPlot(options, data, holder);
    new ResizeObserver(() => {
      const width = Math.floor(holder.clientWidth);
      if (width > 100 && width !== plot.width) plot.setSize({ width, height });
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
    const values = chart.axes.flatMap((axes) => axes.series.flatMap((one) => [...one.low, ...one.y, ...one.high]))
      .filter((value) => value != null);
    const means = chart.axes.flatMap((axes) => axes.series.flatMap((one) => one.y)).filter((value) => value > 0);
    const range = { bottom: Math.min(...means), least: Math.min(...values), top: Math.max(...values) };
    let logY = chart.logY;
    const draw = () => live.replaceChildren(
      ...chart.axes.map((axes) => panel(chart, axes, logY, hidden, range)));
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
