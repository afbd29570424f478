// Draws the charts of a page with uPlot, from the numbers that stand beside each.
// Under every axis of times or ages lies a ribbon: solid where all is known, hatched where something
// is due.
const chosen = { signal: null };
const plots = new WeakMap();

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const percent = (value) => (value == null ? "–" : `${(100 * value).toFixed(value > 0 && value < 0.1 ? 1 : 0)} %`);
const rewards = (value) => (value == null ? "–" : value.toFixed(3).replace("-", "−"));
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const minute = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", timeZone: "UTC" });
const second = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZone: "UTC" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: "UTC" });

function span(seconds) {
  for (const [size, word] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= size) return `${Number((seconds / size).toPrecision(2))} ${word}`;
  }
  return `${Number(seconds.toPrecision(2))} s`;
}

function hatch(context, left, top, width, height) {
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.strokeStyle = token("hatch");
  context.lineWidth = devicePixelRatio;
  const step = 6 * devicePixelRatio;
  context.beginPath();
  for (let x = left - height; x < left + width; x += step) {
    context.moveTo(x, top + height);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.restore();
}

// Hatches what is not complete, draws the ribbon and the dashed lines of changes.
const furniture = (chart) => (plot) => {
  const { ctx, bbox } = plot;
  const bottom = bbox.top + bbox.height;
  const at = (value) => Math.min(Math.max(plot.valToPos(value, "x", true), bbox.left), bbox.left + bbox.width);
  const thick = 4 * devicePixelRatio;
  ctx.save();
  const periods = (chart.complete ?? []).map((complete, index) => ({ from: chart.x[index], to: chart.x[index] + chart.width, complete }));
  for (const { from, to, complete } of chart.ribbon ?? periods) {
    const left = at(from);
    const right = at(to);
    if (complete) {
      ctx.fillStyle = token("quiet");
      ctx.fillRect(left, bottom + devicePixelRatio, right - left, thick);
    } else {
      hatch(ctx, left, bbox.top, right - left, bbox.height);
      hatch(ctx, left, bottom + devicePixelRatio, right - left, thick);
    }
  }
  ctx.strokeStyle = token("ink");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const mark of chart.marks ?? []) {
    ctx.beginPath();
    ctx.moveTo(at(mark), bbox.top);
    ctx.lineTo(at(mark), bottom);
    ctx.stroke();
  }
  ctx.restore();
};

// Ages are marked in whole minutes, hours or days, at most eight of them.
const steps = [1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000];
function ageTicks(plot, _, low, high) {
  const step = steps.find((one) => (high - low) / one <= 8) ?? high;
  return Array.from({ length: Math.floor(high / step) + 1 }, (_none, index) => index * step);
}

function axes(chart, format) {
  const base = { stroke: token("quiet"), grid: { stroke: token("line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const lasts = chart.x?.length > 1 ? chart.x.at(-1) - chart.x[0] : 0;
  const written = lasts > 2.5 * 86400 ? day : lasts > 600 ? clock : second;
  const times = (_, values) => values.map((value) => written.format(1000 * value));
  const ages = (_, values) => values.map((value) => (value ? span(value) : "0"));
  return [
    { ...base, grid: { show: false }, gap: 8, size: 34, space: 72, values: chart.x ? times : ages, ...(chart.x ? {} : { splits: ageTicks }) },
    { ...base, size: 56, values: (_, values) => values.map(format) },
  ];
}

// The box that says what stands at one place of a chart. It follows the mouse, a tap, or the arrow
// keys while the chart has the focus; Escape closes it.
function tooltip(holder) {
  const tip = holder.parentElement.querySelector(".tip") ?? document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  holder.after(tip);
  return (plot, told) => {
    tip.hidden = told == null;
    if (tip.hidden) return;
    const head = document.createElement("strong");
    head.textContent = told.head;
    const list = document.createElement("ul");
    for (const [label, value, colour] of told.rows) {
      const row = document.createElement("li");
      if (colour) row.append(patchOf(colour));
      const number = document.createElement("b");
      number.textContent = value;
      row.append(`${label} `, number);
      list.append(row);
    }
    tip.replaceChildren(head, list);
    const place = holder.offsetLeft + plot.over.offsetLeft + plot.cursor.left;
    const right = place + 14 + tip.offsetWidth <= holder.offsetLeft + holder.clientWidth;
    tip.style.left = `${Math.max(0, right ? place + 14 : place - 14 - tip.offsetWidth)}px`;
    tip.style.top = `${holder.offsetTop + plot.root.offsetTop + plot.over.offsetTop + 6}px`;
  };
}

// Lets the arrow keys move over a chart as a mouse does.
function steer(holder, plot, length) {
  let index = length - 1;
  const show = () => plot.setCursor({ left: plot.valToPos(plot.data[0][index], "x"), top: 1 });
  const hide = () => plot.setCursor({ left: -10, top: -10 });
  holder.tabIndex = 0;
  holder.onblur = hide;
  holder.onfocus = () => { if (holder.matches(":focus-visible")) show(); };
  holder.onkeydown = (event) => {
    const to = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: length - 1 }[event.key];
    if (event.key === "Escape") hide();
    if (to === undefined) return;
    event.preventDefault();
    index = Math.min(Math.max(to, 0), length - 1);
    show();
  };
  if (document.activeElement === holder) holder.onfocus();
}

function draw(holder, chart, options, data, format, told) {
  const height = holder.classList.contains("small") ? 150 : 240;
  const say = tooltip(holder);
  const length = chart.x?.length ?? data[0].length;
  const full = {
    width: Math.max(holder.clientWidth, 120), height, legend: { show: false }, tzDate: (ts) => uPlot.tzDate(new Date(1000 * ts), "UTC"),
    cursor: { y: false, points: { size: 5 } }, padding: [8, 28, 0, 0],
    axes: axes(chart, format), ...options,
    hooks: {
      draw: [furniture(chart)],
      setCursor: [(plot) => {
        const index = plot.cursor.idx;
        say(plot, index == null || index >= length || plot.cursor.left < 0 ? null : told(index));
      }],
    },
  };
  const plot = new uPlot(full, data, holder);
  steer(holder, plot, length);
  const watch = new ResizeObserver(() => {
    if (!holder.isConnected) { watch.disconnect(); return; }
    if (holder.clientWidth > 100 && holder.clientWidth !== plot.width) plot.setSize({ width: holder.clientWidth, height });
  });
  watch.observe(holder);
  plots.set(holder, plot);
}

function legend(holder, lines) {
  const list = document.createElement("ul");
  list.className = "legend";
  for (const { label, colour, dash } of lines) {
    const item = document.createElement("li");
    item.append(dash ? sample(colour, dash) : patchOf(colour), label);
    list.append(item);
  }
  holder.append(list);
}

function patchOf(colour) {
  const patch = document.createElement("i");
  patch.style.background = colour;
  return patch;
}

// A piece of a line, so that lines are told apart without colour too.
function sample(colour, dash) {
  const name = "http://www.w3.org/2000/svg";
  const [picture, line] = [document.createElementNS(name, "svg"), document.createElementNS(name, "line")];
  const set = (one, values) => Object.entries(values).forEach(([key, value]) => one.setAttribute(key, value));
  set(picture, { viewBox: "0 0 28 8", width: 28, height: 8, "aria-hidden": "true" });
  set(line, { x1: 0, x2: 28, y1: 4, y2: 4, stroke: colour, "stroke-width": 2, "stroke-dasharray": dash.join(" ") });
  picture.append(line);
  return picture;
}

// The middles of the periods, so that a point stands over what it counts.
const middles = (chart) => chart.x.map((value) => value + chart.width / 2);
const edges = (chart) => ({ x: { time: true, range: chart.x.length ? [chart.x[0], chart.x.at(-1) + chart.width] : [0, 1] } });
const spoken = (chart, index) => minute.format(1000 * chart.x[index]);

const kinds = {
  stack(holder, chart) {
    const colours = chart.lines.map((one) => token(`a${one.colour}`));
    legend(holder, chart.lines.map((one, index) => ({ label: one.label, colour: colours[index] })));
    const sums = chart.x.map(() => 0);
    const stacked = chart.lines.map((one) => one.y.map((value, index) => (value == null ? null : (sums[index] += value))));
    const series = chart.lines.map((one, index) => ({ label: one.label, stroke: token("paper"), width: 1, fill: colours[index], points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) }));
    // the highest sum is drawn first, so that each covers the one before it down to the axis
    const x = [...chart.x, ...(chart.x.length ? [chart.x.at(-1) + chart.width] : [])];
    const data = [x, ...stacked.map((one) => [...one, one.at(-1) ?? null]).reverse()];
    const options = { series: [{}, ...series.reverse()], scales: { ...edges(chart), y: { range: [0, 1] } } };
    draw(holder, chart, options, data, percent, (index) => ({
      head: spoken(chart, index),
      rows: chart.lines.map((one, number) => [one.label, percent(one.y[index]), colours[number]]),
    }));
  },
  signals(holder, chart) {
    const signal = chosen.signal;
    const values = chart.rates[signal] ?? [];
    const series = [{}, { stroke: token(`a${chart.colour}`), width: 2, spanGaps: true, points: { show: values.length < 60, size: 4 } }];
    const top = Math.max(0.05, chosen.top ?? 1);
    const options = { series, scales: { ...edges(chart), y: { range: [0, top] } } };
    draw(holder, chart, options, [middles(chart), values], percent, (index) => ({
      head: spoken(chart, index),
      rows: [[signal, values[index] == null ? "too few decisions" : percent(values[index]), token(`a${chart.colour}`)]],
    }));
  },
  delays(holder, chart) {
    const styles = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
    const x = [0, ...new Set(chart.curves.flatMap((one) => one.x))].sort((a, b) => a - b);
    const colours = chart.curves.map((_, index) => token(`a${Math.min(index + 1, 7)}`));
    legend(holder, chart.curves.map((one, index) => ({ label: one.label, colour: colours[index], dash: styles[index % 4] })));
    const columns = chart.curves.map((one) => {
      const known = new Map(one.x.map((age, index) => [age, one.y[index]]));
      let last = 0;
      return x.map((age) => (last = known.get(age) ?? last));
    });
    const series = chart.curves.map((one, index) => ({ label: one.label, stroke: colours[index], dash: styles[index % 4], width: 2, points: { show: false } }));
    const range = [0, Math.min(Math.max(x.at(-1), 1.1 * chart.window), 3 * chart.window)];
    const options = { series: [{}, ...series], scales: { x: { time: false, range }, y: { range: [0, 1] } } };
    // ages that no decision has reached yet are hatched: what comes then cannot be known
    const known = Math.min(chart.oldest, range[1]);
    const ribbon = [{ from: 0, to: known, complete: true }, { from: known, to: range[1], complete: false }];
    draw(holder, { ...chart, ribbon, marks: [chart.window] }, options, [x, ...columns], percent, (index) => ({
      head: `within ${span(x[index])}`,
      rows: chart.curves.map((one, number) => [one.label, percent(columns[number][index]), colours[number]]),
    }));
  },
  weeks(holder, chart) {
    const [ages] = chart.curves;
    const edge = { stroke: "transparent", width: 0, points: { show: false } };
    const known = [...chart.low, ...chart.high, 0];
    const [low, high] = [Math.min(...known), Math.max(...known)];
    const options = {
      series: [{}, { stroke: token("ink"), width: 2 }, { ...edge }, { ...edge }],
      bands: [{ series: [3, 2], fill: `${token("band")}33` }],
      scales: { x: { time: false, range: [0, ages.at(-1)] }, y: { range: [low - 0.05 * (high - low), high + 0.05 * (high - low)] } },
    };
    draw(holder, { curves: [], marks: [chart.window] }, options, [ages, chart.middle, chart.low, chart.high], percent, (index) => ({
      head: `until ${span(ages[index])}`,
      rows: [["the middle one", percent(chart.middle[index])], ["all but two", `${percent(chart.low[index])} to ${percent(chart.high[index])}`]],
    }));
  },
  band(holder, chart) {
    const known = [...chart.low, ...chart.high].filter((value) => value != null);
    const last = chart.y.findLastIndex((value) => value != null);
    // early intervals are huge, and are cut; the line never is
    const most = Math.max(...chart.y.map(Math.abs), 1.5 * Math.abs(chart.low[last]), 1.5 * Math.abs(chart.high[last]), 1e-3);
    const low = Math.max(Math.min(0, ...known), -most);
    const high = Math.min(Math.max(0, ...known), most);
    const clip = (values) => values.map((value) => (value == null ? null : Math.min(Math.max(value, low), high)));
    const edge = { stroke: "transparent", width: 0, points: { show: false } };
    const options = {
      series: [{}, { stroke: token("ink"), width: 2, points: { show: false } }, { ...edge }, { ...edge }],
      bands: [{ series: [3, 2], fill: `${token("band")}33` }],
      scales: { ...edges(chart), y: { range: [low - 0.05 * (high - low), high + 0.05 * (high - low)] } },
    };
    draw(holder, chart, options, [middles(chart), chart.y, clip(chart.low), clip(chart.high)], rewards, (index) => ({
      head: `up to the end of the period from ${spoken(chart, index)}`,
      rows: [[chart.label, rewards(chart.y[index])], ["interval", `${rewards(chart.low[index])} to ${rewards(chart.high[index])}`]],
    }));
  },
};

function chooseSignal(root) {
  const buttons = [...root.querySelectorAll("[data-signal]")];
  if (!buttons.length) return;
  if (!buttons.some((one) => one.dataset.signal === chosen.signal)) {
    chosen.signal = buttons.find((one) => one.getAttribute("aria-pressed") === "true").dataset.signal;
  }
  for (const button of buttons) {
    button.setAttribute("aria-pressed", String(button.dataset.signal === chosen.signal));
    button.onclick = () => {
      chosen.signal = button.dataset.signal;
      drawCharts(document);
    };
  }
  const rates = [...root.querySelectorAll("figure[data-chart] script")]
    .map((one) => JSON.parse(one.textContent).rates?.[chosen.signal] ?? [])
    .flat();
  chosen.top = 1.1 * Math.max(0.01, ...rates.filter((value) => value != null));
  if (chosen.top > 1) chosen.top = 1;
}

export function drawCharts(root) {
  chooseSignal(root);
  for (const figure of root.querySelectorAll("figure[data-chart]")) {
    const holder = figure.querySelector(".canvas");
    const chart = JSON.parse(figure.querySelector("script").textContent);
    plots.get(holder)?.destroy();
    holder.replaceChildren();
    if ((chart.x ?? chart.curves).length) kinds[chart.kind](holder, chart);
  }
}
