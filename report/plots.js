/*
 * Charts on a canvas, by uPlot. The SVG that was there stays for paper.
 */
const DASHES = { third: [2, 2], fourth: [8, 2, 2, 2] };

function lineColour(figure, i) {
  return getComputedStyle(figure.querySelectorAll(".keys li")[i]).color;
}

function withAlpha(colour, alpha) {
  return colour.replace(/^rgb\((.*)\)$/, `rgba($1, ${alpha})`);
}

/* The first line is the one that matters: it comes last, over the others. */
function drawingOrder(chart) {
  return [...chart.lines].reverse();
}

/* A point stands for the time up to its end, so the first value also holds from 0 on. */
function tableOf(line) {
  const run = data.runs[line.run];
  const series = run.series[line.series];
  const whole = (values) => [values[0] ?? null, ...values];
  const columns = [[0, ...run.t], whole(series.mean)];
  if (series.min) columns.push(whole(series.max), whole(series.min));
  return columns;
}

/* Lines of one run share their time, so they are put side by side; uPlot joins those of several. */
function joinTables(lines) {
  const tables = lines.map(tableOf);
  if (lines.every((line) => line.run === lines[0].run)) {
    return [tables[0][0], ...tables.flatMap((table) => table.slice(1))];
  }
  return uPlot.join(tables);
}

function seriesOptions(figure, chart) {
  const steps = uPlot.paths.stepped({ align: -1 });
  const alpha = Number(getComputedStyle(document.documentElement).getPropertyValue("--band"));
  const series = [{}];
  const bands = [];
  drawingOrder(chart).forEach((line) => {
    const stroke = lineColour(figure, chart.lines.indexOf(line));
    const common = { paths: steps, points: { show: false }, spanGaps: false };
    series.push({ ...common, stroke, width: line.style === "host" ? 1.2 : 1.6, dash: DASHES[line.style] });
    if (data.runs[line.run].series[line.series].min) {
      bands.push({ series: [series.length, series.length + 1], fill: withAlpha(stroke, alpha) });
      series.push({ ...common, width: 0 }, { ...common, width: 0 });
    }
  });
  return { series, bands };
}

function tickSteps(unit) {
  if (unit.startsWith("bytes")) return Array.from({ length: 60 }, (_, n) => 2 ** n);
  return [1e-3, 1, 1e3, 1e6, 1e9].flatMap((power) => [1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * power));
}

const TIME_STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

function axesOptions(chart) {
  const style = getComputedStyle(document.documentElement);
  const rem = parseFloat(style.fontSize);
  const common = {
    stroke: style.getPropertyValue("--muted"),
    font: `${Math.round(rem * 0.74)}px ${style.fontFamily}`,
    grid: { stroke: style.getPropertyValue("--grid"), width: 1 },
    ticks: { show: false },
  };
  return [
    { ...common, space: rem * 5, incrs: TIME_STEPS, size: rem * 1.4, gap: 4,
      values: (plot, splits) => splits.map((at) => tick(at, splits.length > 1 ? splits[1] - splits[0] : 1)) },
    { ...common, space: rem * 2, incrs: tickSteps(chart.unit), size: rem * 4.5, gap: 6,
      values: (plot, splits) => splits.map((at) => quantity(at, chart.unit === "cores" || chart.unit === "GPUs" ? "" : chart.unit)) },
  ];
}

/* Where the run's phase changed. */
function drawPhases(plot) {
  const phases = data.runs.length === 1 ? data.runs[0].phases : [];
  if (phases.length < 2) return;
  const { ctx, bbox } = plot;
  const colour = getComputedStyle(document.documentElement).getPropertyValue("--muted");
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.font = plot.axes[0].font[0];
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  phases.forEach(([at, label], i) => {
    const left = Math.max(plot.valToPos(at, "x", true), bbox.left);
    const right = Math.min(plot.valToPos(phases[i + 1]?.[0] ?? duration, "x", true), bbox.left + bbox.width);
    if (right <= left) return;
    if (left > bbox.left) {
      ctx.beginPath();
      ctx.moveTo(left, bbox.top);
      ctx.lineTo(left, bbox.top + bbox.height);
      ctx.stroke();
    }
    if (ctx.measureText(label).width + 8 < right - left) ctx.fillText(label, left + 4, bbox.top + 2);
  });
  ctx.restore();
}

function plotOptions(figure, chart, live) {
  return {
    width: live.clientWidth,
    height: live.clientHeight,
    ...seriesOptions(figure, chart),
    axes: axesOptions(chart),
    padding: [8, parseFloat(getComputedStyle(document.documentElement).fontSize) * 2.2, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: false, auto: false, min: range[0], max: range[1] },
      y: { range: (plot, low, high) => [0, (high ?? 0) > 0 ? high * 1.06 : 1] },
    },
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false },
      bind: { dblclick: () => () => setRange(0, duration) },
    },
    hooks: {
      draw: [drawPhases],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width > 2) setRange(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
    },
  };
}

function makePlot(figure, chart) {
  const live = document.createElement("div");
  live.className = "live";
  figure.classList.add("has-canvas");
  figure.append(live);
  const legend = legendOf(figure, chart);
  const say = makeSlider(live, figure, legend.read);
  const table = joinTables(drawingOrder(chart));
  let plot = null;

  function draw() {
    plot?.destroy();
    plot = new uPlot(plotOptions(figure, chart, live), table, live);
    followPointer(plot.over, (event) => plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"));
  }
  const view = {
    showRange: () => plot?.setScale("x", { min: range[0], max: range[1] }),
    showMoment(time) {
      const inView = time !== null && time >= range[0] && time <= range[1];
      plot?.setCursor({ left: inView ? plot.valToPos(time, "x") : -10, top: inView ? 0 : -10 }, false);
      legend.show(time);
      say();
    },
    redraw: () => plot && draw(),
  };
  views.push(view);
  /* Dozens of devices: only what is about to be seen is drawn. */
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    draw();
    view.showMoment(moment);
    new ResizeObserver(() => plot.setSize({ width: live.clientWidth, height: live.clientHeight })).observe(live);
  }, { rootMargin: "400px" }).observe(live);
}
