/*
 * What all charts share: the range in view and the moment pointed at. Keys, pointers and buttons
 * change it here, and every view shows it.
 */
const DEEPEST_ZOOM = 2000;

const views = []; /* { showRange(from, to), showMoment(time or null) } */
let range = [0, duration];
let moment = null;

function setRange(from, to) {
  const width = Math.min(duration, Math.max(to - from, duration / DEEPEST_ZOOM));
  const start = Math.min(Math.max(from, 0), duration - width);
  range = [start, start + width];
  for (const view of views) view.showRange(...range);
  showTools();
}

function zoom(factor) {
  const centre = moment !== null && moment >= range[0] && moment <= range[1] ? moment : (range[0] + range[1]) / 2;
  setRange(centre - (centre - range[0]) * factor, centre + (range[1] - centre) * factor);
}

function shift(share) {
  const width = range[1] - range[0];
  setRange(range[0] + width * share, range[1] + width * share);
}

function setMoment(time) {
  moment = time === null ? null : Math.min(Math.max(time, 0), duration);
  for (const view of views) view.showMoment(moment);
  showTools();
}

/* Steps from point to point of the longest run, and keeps the moment in view. */
function stepMoment(points) {
  const run = data.runs.reduce((a, b) => ((b.t.at(-1) ?? 0) > (a.t.at(-1) ?? 0) ? b : a));
  const at = moment === null ? (points > 0 ? -1 : run.t.length) : pointAt(run, moment);
  const next = Math.min(Math.max(at + points, 0), run.t.length - 1);
  setMoment(run.t[next]);
  if (moment < range[0] || moment > range[1]) {
    const width = range[1] - range[0];
    setRange(moment - width / 2, moment + width / 2);
  }
}

/* --- legend: means until something is pointed at --- */

function legendOf(figure, chart) {
  const cells = [...figure.querySelectorAll(".keys b")];
  const means = cells.map((cell) => cell.textContent);
  const names = [...figure.querySelectorAll(".keys span")].map((name) => name.textContent);
  return {
    show(time) {
      cells.forEach((cell, i) => {
        cell.textContent = time === null ? means[i] : valueText(chart.lines[i], chart.unit, time);
      });
    },
    read(time) {
      const parts = chart.lines.map((line, i) => `${names[i]} ${valueText(line, chart.unit, time)}`);
      return `${clock(time)}: ${parts.join(", ")}`;
    },
  };
}

/* --- keyboard and screen reader: a chart is a slider over time --- */

const KEYS = {
  ArrowLeft: (event) => stepMoment(event.shiftKey ? -10 : -1),
  ArrowRight: (event) => stepMoment(event.shiftKey ? 10 : 1),
  PageUp: () => shift(-0.5),
  PageDown: () => shift(0.5),
  Home: () => setMoment(range[0]),
  End: () => setMoment(range[1]),
  "+": () => zoom(0.5),
  "=": () => zoom(0.5),
  "-": () => zoom(2),
  Escape: () => {
    setMoment(null);
    setRange(0, duration);
  },
};

function makeSlider(element, figure, read) {
  element.tabIndex = 0;
  element.setAttribute("role", "slider");
  element.setAttribute("aria-label", `${figure.querySelector("h3").textContent}, moment in time`);
  element.setAttribute("aria-valuemin", "0");
  element.setAttribute("aria-valuemax", duration.toFixed(2));
  element.setAttribute("aria-describedby", `${figure.id}-says`);
  element.addEventListener("keydown", (event) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? null : KEYS[event.key];
    if (!action) return;
    action(event);
    event.preventDefault();
  });
  const say = () => {
    element.setAttribute("aria-valuenow", (moment ?? 0).toFixed(2));
    element.setAttribute("aria-valuetext", moment === null ? "none chosen; use the arrow keys" : read(moment));
  };
  say();
  return say;
}

/* Mouse and finger alike; uPlot itself only follows a mouse. */
function followPointer(element, timeAt) {
  element.addEventListener("pointermove", (event) => setMoment(timeAt(event)));
  element.addEventListener("pointerdown", (event) => setMoment(timeAt(event)));
  element.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") setMoment(null);
  });
}
