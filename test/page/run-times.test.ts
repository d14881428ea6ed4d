import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { fineSpanText } from "../../lib/page/data/amounts.ts";
import { pastOf, type RunTime, summaryOf } from "../../lib/page/data/run-times.ts";
import { chromium } from "../support/chromium.ts";
import { until } from "../support/until.ts";
import type { OwnBrowser } from "./browser.ts";
import { deadKey, filledPage, gapKey } from "./filled.ts";
import type { OwnPage } from "./own-page.ts";
import { withBrowser } from "./with-browser.ts";

const run = (at: number, latenessMs: number | null): RunTime => ({
  at,
  occurrence: new Date(at).toISOString(),
  outcome: "ran",
  latenessMs,
  durationMs: null,
});

describe("the summary of runs", () => {
  test("The median and the worst leave out runs without the measure", () => {
    const runs = [run(1, 30), run(2, null), run(3, 900), run(4, 10)];
    expect(summaryOf(runs, "latenessMs")).toEqual({ medianMs: 30, worstMs: 900, worstAt: 3 });
    expect(summaryOf(runs, "durationMs")).toBeNull();
  });

  test("Past occurrences leave out jobs that are made ahead of their time", () => {
    expect(pastOf([{ ...run(2, null), outcome: "planned" }, run(1, 30)])).toEqual([run(1, 30)]);
  });
});

describe.runIf(chromium !== undefined)("the chart of a schedule's runs (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  const picture = (page: Page) => page.evaluate<string>(`document.querySelector("canvas").toDataURL()`);
  const chart = (page: Page) => page.getByRole("img", { name: / runs, .* dead\./ });

  async function openChart(): Promise<Awaited<ReturnType<OwnBrowser["tab"]>>> {
    const tab = await browser.tab();
    await tab.open(`/schedules/${deadKey}`);
    await tab.page.locator("canvas").waitFor();
    return tab;
  }

  test("The text of the chart has the counts, medians and worst values of the API's strip", async () => {
    const tab = await openChart();
    const { items } = await own.client.schedules.occurrences(deadKey, {
      from: new Date(own.world.clock.now().getTime() - 7 * 86_400_000),
      limit: 60,
    });
    const ran = items.filter(({ latenessMs }) => latenessMs !== null);
    const late = ran.flatMap(({ latenessMs }) => latenessMs ?? []).toSorted((one, other) => one - other);
    const dead = ran.filter(({ outcome }) => outcome === "dead").length;
    const text = await chart(tab.page).getAttribute("aria-label");
    expect(text).toContain(`${ran.length} runs, ${dead} dead.`);
    const median = fineSpanText(late[Math.floor((late.length - 1) / 2)] ?? 0);
    expect(text).toContain(
      `Late by: median ${median}, worst ${fineSpanText(late.at(-1) ?? 0)} on Sun 29 Mar at`,
    );
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test.each([390, 1_440])("Half of the last time has room beside the lines, at %i px", async (width) => {
    const tab = await browser.tab({ width });
    await tab.open(`/schedules/${deadKey}`);
    const [lines, canvas] = [tab.page.locator(".u-over"), tab.page.locator("canvas")];
    await canvas.waitFor();
    const ends = [];
    for (const box of [await lines.boundingBox(), await canvas.boundingBox()])
      ends.push((box?.x ?? 0) + (box?.width ?? 0));
    const [end = 0, edge = 0] = ends;
    // A time with seconds has 58 px.
    expect(edge - end).toBeGreaterThanOrEqual(30);
    await tab.close();
  });

  test("The placeholder of the instant to explain is not cut off on a phone", async () => {
    const tab = await browser.tab({ width: 390 });
    await tab.open(`/schedules/${deadKey}`);
    const cut = await tab.page.evaluate<boolean>(`(() => {
      const field = document.querySelector("#why-at");
      field.value = field.placeholder;
      return field.scrollWidth > field.clientWidth;
    })()`);
    expect(cut).toBe(false);
    await tab.close();
  });

  test("The chart is drawn again in the colours of another theme", async () => {
    const tab = await openChart();
    const light = await picture(tab.page);
    await tab.page.emulateMedia({ colorScheme: "dark" });
    await until("the chart is dark", async () => (await picture(tab.page)) !== light);
    await tab.page.emulateMedia({ colorScheme: "light" });
    await until("the chart is light", async () => (await picture(tab.page)) === light);
    await tab.close();
  });

  test("A click on the chart explains the run that it points at, and the arrows and Enter do too", async () => {
    const tab = await openChart();
    const { page } = tab;
    await page.locator(".u-over").click({ position: { x: 1, y: 30 } });
    await page.waitForURL(/why=/);
    const { items } = await own.client.schedules.occurrences(deadKey, {
      from: new Date(own.world.clock.now().getTime() - 7 * 86_400_000),
      limit: 60,
    });
    const ran = items.filter(({ latenessMs }) => latenessMs !== null);
    const explained = () => new URL(page.url()).searchParams.get("why");
    expect(explained()).toBe(ran[0]?.occurrence);
    await page.mouse.move(0, 0);
    await page.getByRole("slider", { name: "A run of the chart" }).focus();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    await until("another run is explained", async () => explained() === ran.at(-2)?.occurrence);
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("A schedule without runs, and one with a single run, have a sentence in place of the chart", async () => {
    const tab = await browser.tab();
    await tab.open("/schedules/reports:daily");
    await tab.page.getByText("No run in the last week.").waitFor();
    await tab.open(`/schedules/${gapKey}`);
    await tab.page.getByText("One run in the last week:").waitFor();
    expect(await tab.page.locator("canvas").count()).toBe(0);
    await tab.close();
  });
});
