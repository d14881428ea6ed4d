import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { dayMapOf } from "../../lib/page/data/load/day-map.ts";
import { heatColours, heatLevel } from "../../lib/page/data/load/heat.ts";
import { hourSums, weekOf } from "../../lib/page/data/load/week-map.ts";
import { chromium } from "../support/chromium.ts";
import { hour, minute } from "../support/instants.ts";
import type { OwnBrowser } from "./browser.ts";
import { filledPage } from "./filled.ts";
import type { OwnPage } from "./own-page.ts";
import { withBrowser } from "./with-browser.ts";

/** A run in each of these minutes. */
const everyMinute = (from: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({
    at: new Date(Date.parse(from) + n * minute).toISOString(),
    fires: 1,
    beyond: false,
  }));

describe("the numbers of heat maps", () => {
  test("The peak has the darkest colour, no run has none, and each colour says its numbers", () => {
    const colours = heatColours([0, 1, 42, 42_000]);
    expect(colours).toEqual([
      { level: 1, from: 1, to: 1 },
      { level: 3, from: 42, to: 42 },
      { level: 5, from: 42_000, to: 42_000 },
    ]);
    expect([0, 1, 9, 42_000, 50_000].map((count) => heatLevel(count, colours))).toEqual([0, 1, 3, 5, 5]);
    expect(heatColours([0, 7, 7])).toEqual([{ level: 5, from: 7, to: 7 }]);
    expect(heatColours([0])).toEqual([]);
  });

  test("A peak of fifty times the usual count leaves four colours to the differences below it", () => {
    const usual = Array.from({ length: 160 }, (_, n) => 5_000 + 10 * (n % 40));
    const colours = heatColours([...usual, 250_000]);
    expect(colours.map(({ level }) => level)).toEqual([1, 2, 3, 4, 5]);
    expect(colours.at(-1)).toEqual({ level: 5, from: 250_000, to: 250_000 });
    const shares = colours
      .slice(0, 4)
      .map(({ from, to }) => usual.filter((count) => count >= from && count <= to).length);
    expect(Math.min(...shares)).toBeGreaterThan(20);
  });

  test("Counts that differ by less than a tenth have different colours, but no dark one", () => {
    const colours = heatColours([30_847, 30_880, 30_913, 30_890]);
    expect(colours.map(({ level }) => level)).toEqual([1, 2, 2, 3]);
    expect(heatColours([7, 7])).toEqual([{ level: 3, from: 7, to: 7 }]);
  });

  test("The hour that a clock change leaves out has no row, and a repeated one has two", () => {
    const labels = (from: string) =>
      dayMapOf({ minutes: everyMinute(from, 180), spread: null }, "Europe/Berlin").rows.map(
        ({ label, note }) => [label, note?.replace(/:.*/, "")],
      );
    expect(labels("2026-03-29T00:00:00.000Z")).toEqual([
      ["Sun 01", undefined],
      ["03", "The clocks go forward"],
      ["04", undefined],
    ]);
    expect(labels("2026-10-25T00:00:00.000Z")).toEqual([
      ["Sun 02", undefined],
      ["02", "The clocks go back"],
      ["03", undefined],
    ]);
  });

  test("A map that begins within an hour ends within one, and has each minute once", () => {
    const { rows, cells } = dayMapOf(
      { minutes: everyMinute("2026-06-01T10:40:00.000Z", 1_440), spread: null },
      "Asia/Kathmandu",
    );
    expect(rows).toHaveLength(25);
    expect(rows.reduce((sum, { total }) => sum + total, 0)).toBe(1_440);
    expect(new Set(cells.map(({ row, column }) => `${row} ${column}`)).size).toBe(1_440);
  });

  test("A day of 25 hours takes two questions, and its repeated hour is the sum of both", () => {
    const [day] = weekOf(Date.parse("2026-10-24T22:00:00.000Z"), "Europe/Berlin");
    if (day === undefined) throw new Error("The week has no day.");
    expect(day.asks.map(({ minutes }) => minutes)).toEqual([1_440, 60]);
    const sums = hourSums(
      day,
      day.asks.map(({ begin, minutes }) => ({
        minutes: everyMinute(new Date(begin).toISOString(), minutes),
      })),
    );
    expect(sums).toEqual(sums.map((_, at) => (at === 2 ? 120 : 60)));
    expect(day.hours.filter(({ isTwice }) => isTwice).map(({ hour: at }) => at)).toEqual([2]);
  });

  test("Passed hours of today and the hour that does not exist have no number", () => {
    const [day] = weekOf(Date.parse("2026-03-29T01:00:00.000Z"), "Europe/Berlin");
    const states = day?.hours.slice(0, 4).map(({ state }) => state);
    expect(states).toEqual(["passed", "passed", "missing", "ahead"]);
  });

  test("Minutes beyond the end of a day are not counted for its hours", () => {
    const [day] = weekOf(Date.parse("2026-06-01T20:00:00.000Z"), "Europe/Berlin");
    if (day === undefined) throw new Error("The week has no day.");
    const sums = hourSums(day, [{ minutes: everyMinute("2026-06-01T20:30:00.000Z", 120) }]);
    expect(sums.slice(21)).toEqual([null, 30, 60]);
  });
});

/** The number in a text such as `1,204 runs`. */
const numberIn = (text: string | null) => Number(/[\d,]+/.exec(text ?? "")?.[0].replaceAll(",", ""));

describe.runIf(chromium !== undefined)("the heat maps of the load (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  const hints = (page: Page) => page.locator(".day-heat title").allTextContents();

  test("The map of the next day has the numbers of the API's forecast", async () => {
    const tab = await browser.tab();
    await tab.open("/load?view=day&zone=UTC");
    const { minutes } = await own.client.forecast({ minutes: 1_440 });
    const text = ({ at, fires }: { at: string; fires: number }) =>
      `${at.slice(11, 16)}: ${fires} ${fires === 1 ? "run" : "runs"}`;
    const shown = (await hints(tab.page)).map((hint) => hint.replace(/, more than.*/, ""));
    expect(shown).toEqual(minutes.filter(({ fires }) => fires > 0).map(text));
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("With a spread the map of the next day has the numbers of the spread", async () => {
    const tab = await browser.tab();
    await tab.open("/load?view=day&spread=10m");
    const { spread } = await own.client.forecast({ minutes: 1_440, spread: "10m" });
    const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0);
    const shown = (await hints(tab.page)).map((hint) => numberIn(hint.slice(6)));
    expect(sum(shown)).toBe(sum(spread?.minutes.map(({ fires }) => fires) ?? []));
    await tab.close();
  });

  test("A click on a minute opens its agenda, and the arrows and Enter do too", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/load?view=day");
    const box = await page.locator(".day-heat svg").boundingBox();
    if (box === null) throw new Error("The map is not on the screen.");
    const cell = { x: (30.5 / 60) * box.width, y: 2.5 * 18 };
    await page.locator(".day-heat svg").click({ position: cell });
    await page.getByRole("heading", { name: "Agenda" }).waitFor();
    const { searchParams } = new URL(page.url());
    const [from, to] = [searchParams.get("from") ?? "", searchParams.get("to") ?? ""];
    expect(from.slice(14)).toBe("30:00.000Z");
    expect(Date.parse(to) - Date.parse(from)).toBe(minute);
    await tab.open("/load?view=day");
    await page.getByRole("slider", { name: "A minute of the map" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Agenda" }).waitFor();
    const begin = (await own.client.forecast({ minutes: 1 })).minutes[0]?.at ?? "";
    const expected = new Date(Date.parse(begin) + hour + minute).toISOString();
    expect(new URL(page.url()).searchParams.get("from")).toBe(expected);
    await tab.close();
  });

  test("The hours of the week add up to the API's seven days, in the zone of the screen", async () => {
    const tab = await browser.tab();
    await tab.open("/load?view=week");
    const ends = ["2026-03-29T22:00", "2026-03-30T22:00", "2026-03-31T22:00", "2026-04-01T22:00"];
    const bounds = [...ends, "2026-04-02T22:00", "2026-04-03T22:00", "2026-04-04T22:00"];
    const now = own.world.clock.now().getTime();
    let total = 0;
    for (const [place, end] of bounds.entries()) {
      const from = place === 0 ? undefined : `${bounds[place - 1]}:00.000Z`;
      const begin = from === undefined ? Math.floor(now / minute) * minute : Date.parse(from);
      const minutes = (Date.parse(`${end}:00.000Z`) - begin) / minute;
      total += (await own.client.forecast({ from, minutes })).total;
    }
    const cells = await tab.page
      .locator(".week-heat td[role]")
      .evaluateAll((all) => all.map((each) => (each as { title?: string }).title ?? ""));
    expect(cells).toHaveLength(7 * 24);
    const sum = cells.reduce((all, text) => all + (numberIn(text.split("00: ")[1] ?? "") || 0), 0);
    expect(sum).toBe(total);
    expect(
      await tab.page.getByText(`${total.toLocaleString("en")} runs; hours of Europe/Berlin`).count(),
    ).toBe(1);
    expect(cells[2]).toContain("does not exist");
    await tab.close();
  });

  test("Arrows walk over the hours of the week, on a phone too, and Enter opens an hour's agenda", async () => {
    for (const [width, keys] of [
      [1_440, ["ArrowDown", "ArrowRight", "ArrowRight"]],
      [390, ["ArrowRight", "ArrowDown", "ArrowDown"]],
    ] as const) {
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open("/load?view=week");
      await page.locator('.week-heat td[tabindex="0"]').focus();
      const before = await page.evaluate<string>("document.activeElement.title");
      for (const key of keys) await page.keyboard.press(key);
      const after = await page.evaluate<string>("document.activeElement.title");
      expect(before).toMatch(/^Sun 29 Mar/);
      expect(after).toMatch(/^Mon 30 Mar/);
      const hourOf = (text: string) => Number(/(\d\d):00:/.exec(text)?.[1]);
      expect(hourOf(after) - hourOf(before)).toBe(2);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Agenda" }).waitFor();
      const { searchParams } = new URL(page.url());
      const length = Date.parse(searchParams.get("to") ?? "") - Date.parse(searchParams.get("from") ?? "");
      expect(length).toBe(hour);
      expect(tab.faults).toEqual([]);
      await tab.close();
    }
  });

  test("The days of the week are asked for one after the other, and shown as they arrive", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    const { promise: gate, resolve: release } = Promise.withResolvers<void>();
    const asked: string[] = [];
    await page.route("**/v1/forecast*", async (route) => {
      asked.push(route.request().url());
      if (asked.length === 3) await gate;
      await route.continue();
    });
    await page.goto(`${own.url}/load?view=week#token=admin-token`);
    await page.getByText("2 of 7 days have arrived").waitFor();
    expect(asked).toHaveLength(3);
    expect(await page.locator('.week-heat td[title$="not counted yet"]').count()).toBe(5 * 24);
    release();
    await page.locator('[aria-busy="true"]').waitFor({ state: "detached" });
    expect(asked).toHaveLength(7);
    await tab.close();
  });
});
