import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { buildSync } from "esbuild";
import { chromium as driver, type Page, type Request } from "playwright-core";
import { chromium } from "../support/chromium.ts";
import { type RunningMess, withMess } from "./mess-process.ts";
import { type Figures, machine, median, number, type Options, type Say } from "./report.ts";
import type { Scrolled } from "./scrolled.ts";

export const does = "the page in a real Chromium, on a mess among millions: bytes, times, frames, memory";

export const options = { schedules: "3000000", jobs: "5000000", runs: "5", rows: "10000", minutes: "60" };

export async function bench(options: Options, say: Say): Promise<Figures> {
  const executablePath = chromium;
  if (executablePath === undefined)
    throw new Error("No Chromium was found: set CHROMIUM_PATH, or install one (`apt-get install chromium`).");
  say(machine());
  const figures: Partial<PageFigures> = {};
  await withMess(options, say, async (mess) => {
    const browser = await driver.launch({ executablePath, args: ["--no-sandbox"] });
    try {
      figures.browser = browser.version();
      say(`Chromium ${figures.browser}`);
      const newTab = async (): Promise<Page> => {
        const context = await browser.newContext({ viewport: { width: 1_440, height: 900 } });
        return context.newPage();
      };
      figures["first view"] = await firstView(newTab, mess, number(options, "runs"), say);
      figures.steps = await steps(await newTab(), mess, number(options, "runs"), say);
      figures.scroll = await scroll(await newTab(), mess, number(options, "rows"), say);
      figures.memory = await memory(await newTab(), mess, number(options, "minutes"), say);
    } finally {
      await browser.close();
    }
  });
  return { figures, machine: machine(), schedules: options["schedules"], jobs: options["jobs"] };
}

interface PageFigures {
  browser: string;
  "first view": { bytes: number; ms: number };
  steps: Record<string, number>;
  scroll: Scrolled;
  memory: Record<"before" | "after", Heap> & { minutes: number };
}

interface Measured extends Figures {
  figures: PageFigures;
  schedules: string;
  jobs: string;
}

const budget = { bytes: 180_000, stepMs: 300 };

export function page({ figures, schedules, jobs }: Measured): string {
  const { browser, "first view": first, steps: measured, scroll: scrolled, memory: heaps } = figures;
  const whole = (value: number | string) => Number(value).toLocaleString("en");
  const verdict = (isMet: boolean) => (isMet ? "met" : "**missed**");
  const rows = Object.entries(measured).map(
    ([step, ms]) => `| ${step} | ${Math.round(ms)} ms | ${verdict(ms <= budget.stepMs)} |`,
  );
  const { before, after, minutes } = heaps;
  return `The page in Chromium ${browser}, headless and without a GPU, at 1,440 × 900 pixels, on a running installation with
${whole(schedules)} more schedules and ${whole(jobs)} more jobs. The browser, Carillon and Postgres share the machine. Medians:

| step | time | within ${budget.stepMs} ms |
|---|--:|---|
${rows.join("\n")}

- Before the first view is usable: ${(first.bytes / 1_000).toFixed(1)} kB compressed (budget ${budget.bytes / 1_000} kB: ${verdict(first.bytes <= budget.bytes)}), ${Math.round(first.ms)} ms without any cache.
- Scrolling ${whole(scrolled.rows)} rows, four a frame: ${whole(scrolled.dropped)} of ${whole(scrolled.frames)} frames took longer than two of the screen's, the longest ${Math.round(scrolled.longestMs)} ms.
- ${minutes} minutes of live refresh, on a clock that runs ahead: heap ${megabytes(before.bytes)} → ${megabytes(after.bytes)}, nodes ${before.nodes} → ${after.nodes}, listeners ${before.listeners} → ${after.listeners}.`;
}

const signInLink = ({ url, dataDir }: RunningMess, view = "/") =>
  `${url}${view}#token=${readFileSync(path.join(dataDir, "token"), "utf8").trim()}`;

/** Until the verdict is there, in a browser without any of the page's files. */
async function firstView(newTab: () => Promise<Page>, mess: RunningMess, runs: number, say: Say) {
  const times: number[] = [];
  let bytes = 0;
  for (let run = 0; run < runs; run++) {
    const page = await newTab();
    const from = performance.now();
    await page.goto(signInLink(mess));
    await page.locator(".verdict .lamp:not(.none)").waitFor();
    times.push(performance.now() - from);
    bytes =
      await page.evaluate<number>(`[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .filter(({ name }) => !new URL(name).pathname.startsWith("/v1")).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`);
    await page.context().close();
  }
  say(`before the first view is usable: ${(bytes / 1_000).toFixed(1)} kB compressed, ${said(times)}`);
  return { bytes, ms: median(times) };
}

/** The first steps of a reader, each in one tab, in turns. */
async function steps(page: Page, mess: RunningMess, runs: number, say: Say) {
  const measured: Record<"first list" | "search by prefix" | "jump to a key", number[]> = {
    "first list": [],
    "search by prefix": [],
    "jump to a key": [],
  };
  const quiet = quietOf(page);
  for (let run = 0; run < runs; run++) {
    await page.goto("about:blank");
    await page.goto(signInLink(mess));
    await page.locator(".verdict .lamp:not(.none)").waitFor();
    await quiet();
    measured["first list"].push(await inBrowser(page, "openList()"));
    await quiet();
    measured["search by prefix"].push(await inBrowser(page, `searchPrefix("crm:contact:${run + 1}")`));
    await quiet();
    measured["jump to a key"].push(await inBrowser(page, `jumpTo("crm:contact:${run + 11}")`));
  }
  for (const [step, times] of Object.entries(measured)) say(`${step}: ${said(times)}`);
  return Object.fromEntries(Object.entries(measured).map(([step, times]) => [step, median(times)]));
}

async function scroll(page: Page, mess: RunningMess, rows: number, say: Say) {
  await page.goto(signInLink(mess, "/schedules"));
  await page.locator(".rows .row").first().waitFor();
  const scrolled = await inBrowser<Scrolled>(page, `scrollRows(${rows})`);
  const { frames, dropped, longestMs } = scrolled;
  say(
    `scrolling ${scrolled.rows} rows: ${dropped} of ${frames} frames dropped, the longest took ${Math.round(longestMs)} ms`,
  );
  return scrolled;
}

/** The page's clock runs ahead in steps of ten seconds. The answers come from the real API. */
async function memory(page: Page, mess: RunningMess, minutes: number, say: Say) {
  const quiet = quietOf(page);
  await page.clock.install();
  await page.goto(signInLink(mess));
  await page.locator(".verdict .lamp:not(.none)").waitFor();
  const refresh = async (of: number): Promise<void> => {
    for (let step = 0; step < 6 * of; step++) {
      await page.clock.runFor(10_000);
      await quiet();
    }
  };
  await refresh(warmUpMinutes);
  const before = await heap(page);
  await refresh(minutes);
  const after = await heap(page);
  say(
    `${minutes} minutes of live refresh: heap ${megabytes(before.bytes)} → ${megabytes(after.bytes)}, nodes ${before.nodes} → ${after.nodes}, listeners ${before.listeners} → ${after.listeners}`,
  );
  return { before, after, minutes };
}

const warmUpMinutes = 3;

/** Waits until the page awaits no answer. A load state would be reached once and for all. */
function quietOf(page: Page): () => Promise<void> {
  const awaited = new Set<Request>();
  page.on("request", (request) => awaited.add(request));
  page.on("requestfinished", (request) => awaited.delete(request));
  page.on("requestfailed", (request) => awaited.delete(request));
  return async () => {
    while (awaited.size > 0) await setTimeout(20);
  };
}

interface Heap {
  bytes: number;
  nodes: number;
  listeners: number;
}

async function heap(page: Page): Promise<Heap> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  const { nodes, jsEventListeners } = await session.send("Memory.getDOMCounters");
  await session.detach();
  return { bytes: usedSize, nodes, listeners: jsEventListeners };
}

const measures = buildSync({
  entryPoints: [path.join(import.meta.dirname, "in-browser", "measures.ts")],
  bundle: true,
  write: false,
  format: "iife",
  globalName: "measures",
}).outputFiles[0]?.text;

function inBrowser<Result>(page: Page, call: string): Promise<Result> {
  return page.evaluate<Result>(`(() => { ${measures} return measures.${call}; })()`);
}

const said = (times: readonly number[]) =>
  `${Math.round(median(times))} ms (${times.map((each) => Math.round(each)).join(", ")})`;

const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
