/*
 * Opens report pages in headless Chromium and looks at them as a reader would. Prints one line a
 * test, "ok N - name" or "not ok N - name". Usage: node run.js FOLDER_OF_PAGES FOLDER_FOR_PICTURES
 *
 * Pages come from tests/browser/pages.c. Nothing here measures time except to tell it.
 */
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require("../../report/node_modules/playwright-core");

const [pages, pictures] = process.argv.slice(2).map((folder) => path.resolve(folder));
const README_PICTURE = path.resolve(__dirname, "../../docs/report.png");
const README_PICTURE_MAX = 200 * 1000;
const REPORT_MAX = 3 * 1024 * 1024;
const CHROMIUM = process.env.CHROMIUM || "/usr/bin/chromium";
const ALL = ["plain", "gpus", "hostile", "large", "week", "watched", "one", "empty", "compared"];
const WORKERS = 3;
const HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>";

let browser;
let reader; /* a page that reads screenshots */
const tests = [];
const test = (name, body) => tests.push({ name, body });

/* --- opening --- */

/* A page with everything that went wrong in it, and everything it asked for. */
async function open(name, options = {}) {
  const { width = 1280, height = 900, before, ...rest } = options;
  const context = await browser.newContext({ viewport: { width, height }, offline: true, acceptDownloads: true, ...rest });
  const page = await context.newPage();
  page.faults = [];
  page.requests = [];
  page.on("console", (message) => page.faults.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => page.faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    page.faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => page.requests.push(request.url()));
  if (before) await page.addInitScript(before);
  await page.goto(`file://${pages}/${name}.html`);
  return page;
}

function expectPeace(page) {
  assert.deepEqual(page.faults, []);
  const foreign = page.requests.filter((url) => !/^(file:|data:image\/bmp|blob:)/.test(url));
  assert.deepEqual(foreign, []);
  assert.equal(page.requests.filter((url) => url.startsWith("file:")).length, 1);
}

async function visit(name, options, body) {
  const page = await open(name, options);
  try {
    await body(page);
    expectPeace(page);
  } finally {
    await page.context().close();
  }
}

/* --- looking --- */

/* The pixels of a screenshot, read in a page of their own. */
async function pixelsOf(png) {
  return reader.evaluate(async (source) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width;
    canvas.height = image.height;
    const drawing = canvas.getContext("2d");
    drawing.drawImage(image, 0, 0);
    const bytes = drawing.getImageData(0, 0, image.width, image.height).data;
    const found = {};
    for (let i = 0; i < bytes.length; i += 4) {
      const key = `${bytes[i]},${bytes[i + 1]},${bytes[i + 2]}`;
      found[key] = (found[key] ?? 0) + 1;
    }
    return found;
  }, `data:image/png;base64,${png.toString("base64")}`);
}

function isNear(key, colour, distance) {
  const [a, b] = [key, colour].map((text) => text.match(/\d+/g).map(Number));
  return Math.max(...a.map((value, i) => Math.abs(value - b[i]))) <= distance;
}

function countNear(counts, colour, distance = 40) {
  return Object.entries(counts).reduce((sum, [key, count]) => sum + (isNear(key, colour, distance) ? count : 0), 0);
}

/* How many pixels of a figure have the colour of its first line. */
async function linePixels(page, figure) {
  const target = page.locator(`#${figure}`);
  await target.scrollIntoViewIfNeeded();
  const drawing = target.locator(".u-over, .plot > svg").locator("visible=true").first();
  const colour = await target.locator(".keys li").first().evaluate((key) => getComputedStyle(key).color);
  return countNear(await pixelsOf(await drawing.screenshot()), colour);
}

/* As two frames: what was asked for is drawn then. */
const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

const canvasOf = (page, figure) => page.locator(`#${figure} canvas`).evaluate((canvas) => canvas.toDataURL());
const legendsOf = (page) => page.locator(".keys b").allTextContents();

async function luminance(page, property, selector = "body") {
  const colour = await page.locator(selector).first().evaluate((element, name) => getComputedStyle(element)[name], property);
  const [red, green, blue] = colour.match(/[\d.]+/g).map((part) => {
    const share = Number(part) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

async function drag(page, figure, from, to) {
  const box = await page.locator(`#${figure} .u-over`).boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * from, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, y, { steps: 4 });
  await page.mouse.up();
  await settle(page);
}

/* --- every page --- */

for (const name of ALL) {
  test(`${name}: opens from disk without network, faults or foreign requests`, () =>
    visit(name, {}, async (page) => {
      await settle(page);
      const took = await page.evaluate(() => performance.getEntriesByType("navigation")[0].loadEventEnd);
      const size = fs.statSync(`${pages}/${name}.html`).size;
      console.log(`# ${name}: ${size} bytes, loaded in ${Math.round(took)} ms`);
      assert.ok(size < REPORT_MAX, `${size} bytes`);
      assert.ok((await page.locator("h1").textContent()).length > 0);
    }));

  test(`${name}: fits a phone of 360 pixels`, () =>
    visit(name, { width: 360, height: 740, hasTouch: true, isMobile: true }, async (page) => {
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
      if (name === "plain") await page.screenshot({ path: `${pictures}/phone.png` });
    }));
}

test("plain: fits a screen of 3840 pixels and uses it", () =>
  visit("plain", { width: 3840, height: 2160 }, async (page) => {
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 3840);
    const [first, third] = [await page.locator("#chart-0").boundingBox(), await page.locator("#chart-1").boundingBox()];
    assert.equal(first.y, third.y, "charts stand side by side");
  }));

/* --- charts --- */

test("plain: every chart is drawn, in pixels", () =>
  visit("plain", {}, async (page) => {
    const figures = await page.locator("figure.chart:not(.heat)").evaluateAll((all) => all.map((one) => one.id));
    assert.ok(figures.length >= 10, `${figures.length} charts`);
    for (const figure of figures) assert.ok((await linePixels(page, figure)) > 200, figure);
  }));

test("plain: the heat strip shows busy and idle cores", () =>
  visit("plain", {}, async (page) => {
    const strip = page.locator(".heat canvas");
    await strip.scrollIntoViewIfNeeded();
    await settle(page);
    const counts = await pixelsOf(await strip.screenshot());
    assert.ok(Object.keys(counts).length > 10);
    assert.ok(countNear(counts, "rgb(238,242,246)", 60) > 1000, "idle is pale");
    assert.ok(countNear(counts, "rgb(0,103,184)", 60) > 1000, "busy is blue");
  }));

test("plain: dragging zooms all charts, a double click shows the whole run again", () =>
  visit("plain", {}, async (page) => {
    const watched = ["chart-1", "chart-2", "cores-0"];
    await page.locator("#chart-2").scrollIntoViewIfNeeded();
    await page.locator("#chart-0").scrollIntoViewIfNeeded();
    await page.mouse.move(1, 1);
    await settle(page);
    const before = await Promise.all(watched.map((figure) => canvasOf(page, figure)));
    await drag(page, "chart-0", 0.25, 0.5);
    await page.mouse.move(1, 1);
    await settle(page);
    assert.match(await page.locator(".when").textContent(), /^0:0[45]:\d\d to 0:(09:5\d|10:0\d)$/);
    const zoomed = await Promise.all(watched.map((figure) => canvasOf(page, figure)));
    watched.forEach((figure, i) => assert.notEqual(zoomed[i], before[i], figure));
    const box = await page.locator("#chart-0 .u-over").boundingBox();
    await page.mouse.dblclick(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.move(1, 1);
    await settle(page);
    const after = await Promise.all(watched.map((figure) => canvasOf(page, figure)));
    watched.forEach((figure, i) => assert.equal(after[i], before[i], figure));
  }));

test("plain: the crosshair is at the same moment in all charts", () =>
  visit("plain", {}, async (page) => {
    await page.locator("#chart-0").scrollIntoViewIfNeeded();
    await page.locator("#chart-1 .u-over").waitFor();
    const means = await legendsOf(page);
    const box = await page.locator("#chart-0 .u-over").boundingBox();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 40);
    await settle(page);
    const shares = await page.evaluate(() =>
      ["chart-0", "chart-1"].map((id) => {
        const over = document.querySelector(`#${id} .u-over`).getBoundingClientRect();
        return (document.querySelector(`#${id} .u-cursor-x`).getBoundingClientRect().right - over.left) / over.width;
      }).concat(parseFloat(document.querySelector(".heat .strip i").style.left) / 100));
    for (const share of shares) assert.ok(Math.abs(share - 0.6) < 0.01, shares.join());
    const values = await legendsOf(page);
    values.forEach((value, i) => assert.notEqual(value, means[i]));
    assert.match(await page.locator(".when").textContent(), /^0:1[12]:\d\d\.\d\d · 2026-11-15 .* UTC$/);
    await page.mouse.move(1, 1);
    await settle(page);
    assert.deepEqual(await legendsOf(page), means);
  }));

test("plain: keys move the crosshair, zoom and reset", () =>
  visit("plain", {}, async (page) => {
    const chart = page.getByRole("slider", { name: /^CPU/ });
    await chart.focus();
    assert.match(await chart.getAttribute("aria-valuetext"), /none chosen/);
    await page.keyboard.press("ArrowRight");
    const first = await chart.getAttribute("aria-valuetext");
    assert.match(first, /^0:00:0\d: job [\d.]+ cores.*, host [\d.]+ cores/);
    await page.keyboard.press("Shift+ArrowRight");
    assert.notEqual(await chart.getAttribute("aria-valuetext"), first);
    const whole = await canvasOf(page, "chart-0");
    await page.keyboard.press("+");
    await settle(page);
    assert.notEqual(await canvasOf(page, "chart-0"), whole);
    await page.keyboard.press("Escape");
    await settle(page);
    assert.equal(await canvasOf(page, "chart-0"), whole);
    assert.match(await chart.getAttribute("aria-valuetext"), /none chosen/);
  }));

test("plain: buttons zoom, move and reset", () =>
  visit("plain", {}, async (page) => {
    const when = page.locator(".when");
    await page.getByRole("button", { name: "Zoom in" }).click();
    assert.equal(await when.textContent(), "0:05:00 to 0:15:00");
    await page.getByRole("button", { name: "Later" }).click();
    assert.equal(await when.textContent(), "0:10:00 to 0:20:00");
    await page.getByRole("button", { name: "Earlier" }).click();
    await page.getByRole("button", { name: "Zoom out" }).click();
    assert.match(await when.textContent(), /drag to zoom/);
  }));

test("plain: a finger moves the crosshair", () =>
  visit("plain", { width: 400, height: 800, hasTouch: true, isMobile: true }, async (page) => {
    await page.locator("#chart-0").scrollIntoViewIfNeeded();
    const before = await legendsOf(page);
    await page.locator("#chart-0 .u-over").tap();
    await settle(page);
    assert.notDeepEqual(await legendsOf(page), before);
  }));

test("plain: phases are named and marked", () =>
  visit("plain", {}, async (page) => {
    assert.deepEqual(await page.locator(".phases b").allTextContents(), ["prepare", "train"]);
    assert.equal(await page.locator("#chart-0 .phase").count(), 1);
  }));

test("plain: without uPlot the drawings zoom and have a crosshair", () =>
  visit("plain", { before: () => Object.defineProperty(window, "uPlot", { value: undefined }) }, async (page) => {
    assert.equal(await page.locator(".live").count(), 0);
    assert.ok((await linePixels(page, "chart-0")) > 200);
    const drawing = page.locator("#chart-0 .plot > svg");
    const box = await drawing.boundingBox();
    const means = await legendsOf(page);
    await page.mouse.move(box.x + box.width / 2, box.y + 20);
    await settle(page);
    assert.notDeepEqual(await legendsOf(page), means);
    await page.getByRole("button", { name: "Zoom in" }).click();
    assert.match(await drawing.getAttribute("viewBox"), /^500 0 1000 400$/);
    assert.equal(await page.locator("#chart-0 .x-axis span").first().textContent(), "0:05:00");
  }));

/* --- how it is read --- */

for (const colorScheme of ["light", "dark"]) {
  test(`plain: ${colorScheme} is ${colorScheme}, and text can be read`, () =>
    visit("plain", { colorScheme }, async (page) => {
      const paper = await luminance(page, "backgroundColor");
      assert.ok(colorScheme === "dark" ? paper < 0.1 : paper > 0.8);
      for (const selector of ["h1", ".facts dt", ".badge"]) {
        assert.ok(contrast(paper, await luminance(page, "color", selector)) > 4.5, selector);
      }
      const surface = await luminance(page, "backgroundColor", ".card");
      for (const selector of [".card p", ".keys li.job", ".keys b", "thead th"]) {
        assert.ok(contrast(surface, await luminance(page, "color", selector)) > 4.5, selector);
      }
      assert.ok((await linePixels(page, "chart-0")) > 200);
      await page.evaluate(() => window.scrollTo(0, 0));
      await page.screenshot({ path: `${pictures}/${colorScheme}.png` });
    }));
}

test("plain: the colours follow a change of mode", () =>
  visit("plain", { colorScheme: "light" }, async (page) => {
    await page.locator("#chart-0").scrollIntoViewIfNeeded();
    const before = await canvasOf(page, "chart-0");
    await page.emulateMedia({ colorScheme: "dark" });
    await settle(page);
    assert.notEqual(await canvasOf(page, "chart-0"), before);
  }));

test("plain: on paper there are drawings on white, whatever the mode", () =>
  visit("plain", { colorScheme: "dark" }, async (page) => {
    const pdf = await page.pdf({ format: "A4", printBackground: true });
    assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
    const sheets = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g).length;
    assert.ok(sheets >= 3 && sheets <= 9, `${sheets} sheets`);
    await page.emulateMedia({ media: "print" });
    assert.ok((await luminance(page, "backgroundColor")) > 0.99);
    assert.equal(await page.locator("#chart-0 .live").isVisible(), false);
    assert.equal(await page.locator(".tools").isVisible(), false);
    assert.ok((await linePixels(page, "chart-0")) > 200);
    await page.screenshot({ path: `${pictures}/paper.png`, fullPage: true });
  }));

test("plain: without scripts everything is there", () =>
  visit("plain", { javaScriptEnabled: false }, async (page) => {
    assert.equal(await page.locator("h1").textContent(), "train-resnet");
    assert.equal(await page.locator(".badge").textContent(), "exit 0");
    assert.ok((await page.locator(".card").count()) >= 6);
    assert.match(await page.locator(".ask").textContent(), /CPUs4.*Memory5 GiB/);
    assert.equal(await page.locator(".tools").isVisible(), false);
    for (const figure of ["chart-0", "chart-2", "chart-6"]) assert.ok((await linePixels(page, figure)) > 200, figure);
    assert.equal(await page.locator(".heat img").isVisible(), true);
    assert.ok(Object.keys(await pixelsOf(await page.locator(".heat img").screenshot())).length > 10);
    await page.screenshot({ path: `${pictures}/no-scripts.png`, fullPage: true });
  }));

/* Roles that say nothing without a name. */
const NAMED = new Set(["button", "slider", "link", "image", "table", "region", "toolbar", "columnheader", "rowheader"]);

async function accessibilityTree(page) {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  return nodes.filter((node) => !node.ignored).map((node) => ({
    role: node.role?.value,
    name: node.name?.value ?? "",
    level: node.properties?.find((property) => property.name === "level")?.value.value,
  }));
}

for (const name of ["plain", "gpus", "compared", "empty"]) {
  test(`${name}: what a screen reader is told makes sense`, () =>
    visit(name, {}, async (page) => {
      const nodes = await accessibilityTree(page);
      for (const node of nodes) assert.ok(!NAMED.has(node.role) || node.name.trim() !== "", `a nameless ${node.role}`);
      const levels = nodes.filter((node) => node.role === "heading").map((node) => node.level);
      assert.equal(levels[0], 1);
      assert.equal(levels.filter((level) => level === 1).length, 1);
      levels.forEach((level, i) => assert.ok(i === 0 || level <= levels[i - 1] + 1, `h${level} after h${levels[i - 1]}`));
      assert.ok(nodes.some((node) => node.role === "main"));
      const ids = await page.evaluate(() => [...document.querySelectorAll("[id]")].map((element) => element.id));
      assert.equal(new Set(ids).size, ids.length, "ids are used once");
      if (name === "plain") assert.ok(nodes.some((node) => node.role === "slider" && node.name.startsWith("Memory")));
    }));
}

/* --- the data --- */

async function downloadCsv(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  const text = fs.readFileSync(await download.path(), "utf8");
  return { name: download.suggestedFilename(), rows: text.trimEnd().split("\n").map((line) => line.split(",")) };
}

test("plain: the data can be had as CSV", () =>
  visit("plain", {}, async (page) => {
    const { name, rows } = await downloadCsv(page, page.getByRole("button", { name: "CSV" }));
    assert.equal(name, "train-resnet.csv");
    assert.equal(rows.length, 601);
    assert.deepEqual(rows[0].slice(0, 3), ["elapsed_secs", "timestamp", "cpu.job.mean [cores]"]);
    for (const row of rows) assert.equal(row.length, rows[0].length);
    assert.deepEqual([rows[600][0], rows[600][1]], ["1200", "1794721199.00"]);
    const column = rows[0].indexOf("cpu.job.mean [cores]");
    const mean = rows.slice(1).reduce((sum, row) => sum + Number(row[column]), 0) / 600;
    assert.ok(Math.abs(mean - 3.95) < 0.01, `${mean}`);
    assert.ok(rows[0].includes("disk.nvme0.read.max [bytes/s]"));
  }));

/* --- hostile and extreme runs --- */

test("hostile: foreign text stays text", () =>
  visit("hostile", {}, async (page) => {
    assert.equal(await page.locator("h1").textContent(), HOSTILE);
    assert.equal(await page.title(), `${HOSTILE} – resource-tracker`);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator("script").count(), 2);
    assert.deepEqual(await page.locator("img").evaluateAll((all) => all.map((image) => image.src.slice(0, 22))), ["data:image/bmp;base64,"]);
    const { rows } = await downloadCsv(page, page.getByRole("button", { name: "CSV" }));
    assert.ok(rows[0].some((cell) => cell.includes(HOSTILE)));
  }));

test("hostile: even if it became markup, nothing would run or be fetched", async () => {
  const page = await open("hostile");
  await page.evaluate(() => {
    document.body.insertAdjacentHTML("beforeend", '<img src="http://127.0.0.1:9/x" onerror="window.hacked=1">');
    const script = document.createElement("script");
    script.textContent = "window.hacked = 2";
    document.body.append(script);
  });
  const fetched = await page.evaluate(() => fetch("http://127.0.0.1:9/").then(() => true, () => false));
  assert.equal(fetched, false);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.ok(page.faults.length >= 3 && page.faults.every((fault) => /Content Security Policy/.test(fault)), page.faults.join("\n"));
  await page.context().close();
});

test("large: 500 mounts, 256 cores, 40 disks and 16 GPUs are all there", () =>
  visit("large", {}, async (page) => {
    const rows = (caption) => page.getByRole("table", { name: caption }).locator("tbody tr").count();
    assert.equal(await rows(/^File systems/), 500);
    assert.equal(await rows(/^Cores/), 256);
    assert.equal(await rows(/^Disks/), 40);
    assert.equal(await rows(/^GPUs/), 16);
    assert.equal(await page.locator(".heat img").evaluate((image) => image.naturalHeight), 256);
    assert.equal(await page.getByRole("heading", { name: /^GPU \d+: utilisation/ }).count(), 16);
    assert.equal(await page.getByRole("heading", { name: /^nvme\d+: read, written/ }).count(), 16);
    assert.match(await page.getByRole("heading", { name: /^Disks/ }).textContent(), /the busiest 16 of 40/);
    assert.equal(await page.locator(".badge").textContent(), "ended by signal 9");
    assert.ok((await linePixels(page, "chart-40")) > 100);
  }));

test("gpus: each GPU has its use, memory, power and temperature", () =>
  visit("gpus", { width: 1600, height: 1200 }, async (page) => {
    for (const what of [/utilisation/, /VRAM/, /power/, /temperature/]) {
      assert.equal(await page.getByRole("heading", { name: what }).count(), 16);
    }
    await page.getByRole("heading", { name: "GPUs" }).first().scrollIntoViewIfNeeded();
    await settle(page);
    await page.screenshot({ path: `${pictures}/gpus.png` });
  }));

test("week: seven days at 1 Hz keep their peaks", () =>
  visit("week", {}, async (page) => {
    assert.match(await page.locator(".facts").textContent(), /7 d 0 h 00 min/);
    const { rows } = await downloadCsv(page, page.getByRole("button", { name: "CSV" }));
    assert.ok(rows.length > 360 && rows.length <= 721, `${rows.length} rows`);
    const column = rows[0].indexOf("cpu.job.max [cores]");
    const peak = Math.max(...rows.slice(1).map((row) => Number(row[column])));
    const told = (await page.locator("#chart-0 .keys b").first().textContent()).match(/peak ([\d.]+)/)[1];
    assert.ok(Math.abs(peak - Number(told)) < 0.06, `${peak} and ${told}`);
    assert.ok((await linePixels(page, "chart-0")) > 200);
  }));

test("one: a single sample is a line, not nothing", () =>
  visit("one", {}, async (page) => {
    assert.ok((await linePixels(page, "chart-0")) > 200);
    assert.match(await page.locator(".facts").textContent(), /0\.02 s/);
  }));

test("empty: a run without samples says so", () =>
  visit("empty", {}, async (page) => {
    assert.match(await page.locator("main").textContent(), /ended before its first sample/);
    assert.equal(await page.locator(".badge").textContent(), "exit 127");
    assert.equal(await page.locator("figure").count(), 0);
    assert.equal(await page.locator(".tools").count(), 0);
  }));

test("watched: a host without a job has its own figures", () =>
  visit("watched", {}, async (page) => {
    assert.equal(await page.locator(".badge").textContent(), "watched");
    assert.equal(await page.locator(".keys li.job").count(), 0);
    assert.ok((await linePixels(page, "chart-0")) > 200);
  }));

test("compared: runs stand side by side and lie over each other", () =>
  visit("compared", { height: 1200 }, async (page) => {
    const names = ["train-resnet", "train-resnet, batch 64", "train-resnet, bf16"];
    const heads = await page.locator(".compared thead th.run").allTextContents();
    names.forEach((name, i) => assert.ok(heads[i].startsWith(name), heads[i]));
    assert.match(await page.locator(".compared tbody tr").first().textContent(), /Duration20 min 00 s15 min 00 s −25 %10 min 00 s −50 %/);
    assert.deepEqual(await page.locator("#chart-0 .keys span").allTextContents(), names);
    await page.locator("#chart-0").scrollIntoViewIfNeeded();
    await settle(page);
    const counts = await pixelsOf(await page.locator("#chart-0 .u-over").screenshot());
    for (let i = 0; i < 3; i += 1) {
      const colour = await page.locator("#chart-0 .keys li").nth(i).evaluate((key) => getComputedStyle(key).color);
      assert.ok(countNear(counts, colour) > 100, names[i]);
    }
    const { rows } = await downloadCsv(page, page.getByRole("button", { name: "CSV of train-resnet, bf16" }));
    assert.equal(rows.length, 601);
    await page.evaluate(() => window.scrollTo(0, 0));
    await page.screenshot({ path: `${pictures}/compared.png` });
  }));

/* --- the README's picture --- */

test("the README's picture is there and small (make picture writes it anew)", () =>
  visit("plain", { width: 1280, height: 820 }, async (page) => {
    await settle(page);
    await page.screenshot({ path: `${pictures}/report.png` });
    if (process.env.UPDATE_PICTURE) fs.copyFileSync(`${pictures}/report.png`, README_PICTURE);
    const size = fs.statSync(README_PICTURE).size;
    assert.ok(size > 20000 && size < README_PICTURE_MAX, `${size} bytes`);
  }));

/* --- running --- */

async function work(queue) {
  for (let one = queue.shift(); one; one = queue.shift()) {
    try {
      await one.body();
      console.log(`ok ${one.number} - ${one.name}`);
    } catch (error) {
      process.exitCode = 1;
      console.log(`not ok ${one.number} - ${one.name}\n${String(error.stack).replace(/^/gm, "#   ")}`);
    }
  }
}

async function main() {
  const wanted = new RegExp(process.env.ONLY || "");
  /* Containers often have neither the namespaces of the sandbox nor much shared memory. */
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  console.log(`1..${tests.length}`);
  reader = await (await browser.newContext()).newPage();
  const queue = tests.map((one, i) => ({ number: i + 1, ...one })).filter((one) => wanted.test(one.name));
  await Promise.all(Array.from({ length: WORKERS }, () => work(queue)));
  await browser.close();
}

main().catch((error) => {
  console.log(`# ${error.stack}`);
  process.exitCode = 2;
});
