/*
 * What the charts show: the page's data, and numbers as people read them.
 *
 * The data (encode/report_data.c): runs[] with t (seconds since the start at the end of each point)
 * and series[] (mean, and min and max where a point has several samples; one number instead of a
 * list means that it never changed), and charts[] with the lines to draw.
 */
const data = JSON.parse(document.getElementById("data").textContent);
const duration = Math.max(0, ...data.runs.map((run) => run.t.at(-1) ?? 0));

/* --- numbers for people, as encode/human.c writes them --- */

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 || Number.isInteger(value) ? 0 : size >= 9.995 ? 1 : 2);
}

function quantity(value, unit) {
  if (value === null || value === undefined) return "not known";
  const [base, ...rest] = unit.split("/");
  if (base !== "bytes") return unit === "" || unit === "count" ? digits(value) : `${digits(value)} ${unit}`;
  let step = 0;
  let scaled = value;
  while (Math.abs(scaled) >= 1023.5 && step < BINARY.length - 1) {
    scaled /= 1024;
    step += 1;
  }
  return `${step === 0 ? Math.round(scaled) : digits(scaled)} ${[BINARY[step], ...rest].join("/")}`;
}

function clock(seconds, withFraction) {
  const whole = Math.floor(seconds + (withFraction ? 1e-6 : 0.5));
  const two = (n) => String(n).padStart(2, "0");
  const days = Math.floor(whole / 86400);
  const fraction = withFraction ? (seconds - whole).toFixed(2).slice(1).replace("-", "") : "";
  return `${days ? `${days}d ` : ""}${Math.floor(whole / 3600) % 24}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}${fraction}`;
}

/* A time on an axis whose marks are `step` seconds apart. */
function tick(at, step) {
  if (step >= 1) return clock(at);
  return at < 60 ? `${at.toFixed(2)} s` : clock(at, true);
}

/* --- series --- */

function unpack(values, count) {
  return Array.isArray(values) ? values : new Array(count).fill(values);
}

for (const run of data.runs) {
  for (const series of run.series) {
    series.mean = unpack(series.mean, run.t.length);
    if ("min" in series) {
      series.min = unpack(series.min, run.t.length);
      series.max = unpack(series.max, run.t.length);
    }
  }
}

/* The point that a moment is in: the first that ends at or after it; -1 when the run was over. */
function pointAt(run, time) {
  let low = 0;
  let high = run.t.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (run.t[middle] < time - 1e-9) low = middle + 1;
    else high = middle;
  }
  return low < run.t.length ? low : -1;
}

function valueText(line, unit, time) {
  const series = data.runs[line.run].series[line.series];
  const at = pointAt(data.runs[line.run], time);
  if (at < 0) return "ended";
  const mean = quantity(series.mean[at], unit);
  if (!series.min || series.mean[at] === null || series.min[at] === series.max[at]) return mean;
  return `${mean} (${quantity(series.min[at], unit)} to ${quantity(series.max[at], unit)})`;
}
