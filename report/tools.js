/*
 * The bar of buttons and the data as CSV; at the end everything is set going. Whatever a reader must
 * know is in the page already: without these scripts less moves, and nothing is missing.
 */
/* --- the data as CSV --- */

function csvOf(run) {
  const kinds = (series) => (series.min ? [".mean", ".min", ".max"] : [""]);
  const names = run.series.flatMap((s) => kinds(s).map((kind) => `${s.key}${kind} [${s.unit}]`));
  const quote = (name) => (/[",\n\r]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
  const rows = [["elapsed_secs", "timestamp", ...names.map(quote)].join(",")];
  run.t.forEach((end, i) => {
    const cells = run.series.flatMap((s) => (s.min ? [s.mean[i], s.min[i], s.max[i]] : [s.mean[i]]));
    const stamp = run.start === null ? "" : (run.start + end).toFixed(2);
    rows.push([end, stamp, ...cells.map((cell) => cell ?? "")].join(","));
  });
  return `${rows.join("\n")}\n`;
}

function download(index) {
  const link = document.createElement("a");
  const name = data.runs[index].name.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[-.]+|-+$/g, "") || "run";
  link.href = URL.createObjectURL(new Blob([csvOf(data.runs[index])], { type: "text/csv" }));
  link.download = `${name.slice(0, 80)}.csv`;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/* --- the bar of buttons --- */

const tools = document.querySelector(".tools");
const DEEDS = {
  in: () => zoom(0.5),
  out: () => zoom(2),
  earlier: () => shift(-0.5),
  later: () => shift(0.5),
  reset: () => setRange(0, duration),
  csv: (button) => download(Number(button.dataset.run)),
};

function whenText() {
  const start = data.runs.length === 1 ? data.runs[0].start : null;
  if (moment !== null) {
    const utc = start === null ? "" : ` · ${new Date((start + moment) * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
    return `${clock(moment, true)}${utc}`;
  }
  const isWhole = range[0] <= 0 && range[1] >= duration;
  return isWhole ? "drag to zoom · arrows, + and − work too" : `${clock(range[0])} to ${clock(range[1])}`;
}

function showTools() {
  const isWhole = range[0] <= 0 && range[1] >= duration;
  for (const deed of ["out", "earlier", "later", "reset"]) {
    tools.querySelector(`[data-do="${deed}"]`).disabled = isWhole;
  }
  tools.querySelector(".when").textContent = whenText();
}

if (duration > 0 && tools) {
  for (const chart of data.charts) {
    const figure = document.getElementById(chart.id);
    if (typeof uPlot === "function") makePlot(figure, chart);
    else makeDrawing(figure, chart);
  }
  document.querySelectorAll(".heat").forEach(makeHeat);
  tools.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) DEEDS[button.dataset.do](button);
  });
  tools.hidden = false;
  showTools();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const view of views) view.redraw();
  });
}
