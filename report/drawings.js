/*
 * Charts without uPlot: the SVG itself moves where the build had no uPlot, and the strip of cores,
 * whose picture's bytes are percentages.
 */
function svgCursor(drawing) {
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  line.setAttribute("class", "cursor");
  line.setAttribute("vector-effect", "non-scaling-stroke");
  line.setAttribute("y2", "100%");
  drawing.append(line);
  return line;
}

function showTimes(axis) {
  const labels = [...axis.children];
  const step = (range[1] - range[0]) / Math.max(1, labels.length - 1);
  labels.forEach((label, i) => {
    label.textContent = tick(range[0] + step * i, step);
  });
}

function makeDrawing(figure, chart) {
  const drawing = figure.querySelector(".plot > svg");
  const axis = figure.querySelector(".x-axis");
  const box = drawing.viewBox.baseVal;
  const full = box.width;
  const line = svgCursor(drawing);
  const legend = legendOf(figure, chart);
  const say = makeSlider(figure.querySelector(".plot"), figure, legend.read);
  const timeAt = (event) => {
    const place = drawing.getBoundingClientRect();
    return range[0] + ((event.clientX - place.left) / place.width) * (range[1] - range[0]);
  };
  followPointer(drawing, timeAt);
  drawing.addEventListener("dblclick", () => setRange(0, duration));
  const view = {
    showRange() {
      box.x = (range[0] / duration) * full;
      box.width = ((range[1] - range[0]) / duration) * full;
      showTimes(axis);
    },
    showMoment(time) {
      const at = time === null ? -1 : (time / duration) * full;
      line.setAttribute("x1", at);
      line.setAttribute("x2", at);
      legend.show(time);
      say();
    },
    redraw() {},
  };
  views.push(view);
  view.showMoment(null);
}

/* --- heat strips: the picture's bytes are percentages --- */

function readBitmap(image) {
  const bytes = Uint8Array.from(atob(image.src.slice(image.src.indexOf(",") + 1)), (c) => c.charCodeAt(0));
  const header = new DataView(bytes.buffer);
  const columns = header.getInt32(18, true);
  const cores = header.getInt32(22, true);
  const stride = (columns + 3) & ~3;
  const start = header.getUint32(10, true);
  return {
    columns,
    cores,
    /* Rows go upwards; 255 is "not known". */
    at: (core, column) => bytes[start + (cores - 1 - core) * stride + column],
  };
}

function coresText(picture, share) {
  if (share > 1) return "ended";
  const column = Math.min(picture.columns - 1, Math.floor(share * picture.columns));
  let busiest = -1;
  let busy = 0;
  for (let core = 0; core < picture.cores; core += 1) {
    const use = picture.at(core, column);
    if (use > 100) continue;
    if (busiest < 0 || use > picture.at(busiest, column)) busiest = core;
    if (use >= 50) busy += 1;
  }
  if (busiest < 0) return "not known";
  return `${busy} of ${picture.cores} cores at least half busy; busiest: core ${busiest}, ${picture.at(busiest, column)} %`;
}

function makeHeat(figure) {
  const strip = figure.querySelector(".strip");
  const image = strip.querySelector("img");
  const axis = figure.querySelector(".x-axis");
  const picture = readBitmap(image);
  const length = data.runs[Number(figure.id.slice("cores-".length))].t.at(-1);
  const canvas = document.createElement("canvas");
  const line = document.createElement("i");
  const text = figure.querySelector(".keys b");
  const plain = text.textContent;
  image.hidden = true;
  strip.append(canvas, line);
  line.hidden = true;
  const say = makeSlider(strip, figure, (time) => `${clock(time)}: ${coresText(picture, time / length)}`);

  function draw() {
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio));
    canvas.height = Math.max(1, Math.round(canvas.clientHeight * devicePixelRatio));
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    const scale = picture.columns / length;
    context.drawImage(image, range[0] * scale, 0, (range[1] - range[0]) * scale, picture.cores, 0, 0, canvas.width, canvas.height);
  }
  followPointer(strip, (event) => {
    const place = strip.getBoundingClientRect();
    return range[0] + ((event.clientX - place.left) / place.width) * (range[1] - range[0]);
  });
  strip.addEventListener("dblclick", () => setRange(0, duration));
  views.push({
    showRange() {
      draw();
      showTimes(axis);
    },
    showMoment(time) {
      line.hidden = time === null || time < range[0] || time > range[1];
      if (!line.hidden) line.style.left = `${((time - range[0]) / (range[1] - range[0])) * 100}%`;
      text.textContent = time === null ? plain : coresText(picture, time / length);
      say();
    },
    redraw: draw,
  });
  showTimes(axis);
  image.decode().then(() => new ResizeObserver(draw).observe(canvas));
}
