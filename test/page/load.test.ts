import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { chromium } from "../support/chromium.ts";
import { hour, minute } from "../support/instants.ts";
import type { OwnBrowser } from "./browser.ts";
import { filledPage } from "./filled.ts";
import { axeFaults, textFaults } from "./look-faults.ts";
import type { OwnPage } from "./own-page.ts";
import { withBrowser } from "./with-browser.ts";

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

  test("The load opens with a day, and says in one sentence which minute is the heaviest", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/load?zone=UTC");
    const { heaviest, suggestion } = await own.client.forecast({ minutes: 1_440 });
    const lead = page.locator(".what-if .lead");
    expect(await lead.textContent()).toBe(
      `In the next day the heaviest minute is ${await lead.getByRole("link").textContent()}. ${suggestion.text}`,
    );
    expect(await lead.getByRole("link").getAttribute("href")).toContain(
      encodeURIComponent(heaviest[0]?.at.toString() ?? "none"),
    );
    expect(await page.locator(".curve-times").textContent()).toContain("00:00");
    await page.getByRole("slider", { name: "What if" }).press("ArrowRight");
    await page.getByText("With a spread of 1m, the").waitFor();
    await page
      .getByText(/Around midnight on Mon,? 30 Mar, UTC, 23:50 to 00:10, .*; with the spread at most \d/)
      .waitFor();
    const note = page.locator(".minute-note").first();
    expect(await note.innerText()).toMatch(/00:00: [\d,]+ runs?, held ones left out, with the spread [\d,]+/);
    await page.locator(".curve").hover({ position: { x: 1, y: 20 } });
    expect(await note.innerText()).not.toContain("00:00:");
    expect(await page.getByText(suggestion.text).count()).toBe(0);
    await tab.close();
  });

  test.each([
    ["prefix", "?prefix=crm"],
    ["tag", "?tag=crm"],
    ["target", "?target=queue%2Fcrm"],
    ["key", "/crm%3Acontact%3A"],
  ])("The largest parts by %s lead to their schedules", async (by, address) => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open(`/load${by === "prefix" ? "" : `?by=${by}`}`);
    const parts = page
      .locator("section, div")
      .filter({ has: page.getByRole("heading", { name: "Largest parts" }) });
    const links = await parts.last().getByRole("link").all();
    const addresses = await Promise.all(links.map((link) => link.getAttribute("href")));
    expect(addresses).toContainEqual(expect.stringContaining(`/schedules${address}`));
    await tab.close();
  });

  test("On a phone the map of the next day has the width of the screen", async () => {
    const tab = await browser.tab({ width: 390 });
    await tab.open("/load?view=day");
    const box = await tab.page.locator(".day-heat").boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 1_000)).toBeLessThanOrEqual(390);
    await tab.close();
  });

  test.each([320, 390, 700, 1_440])(
    "Each hour and each sum of the next day stands beside its own row, at %i px",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open("/load?view=day");
      // At one moment: what is above may still grow by a line, and the minute may end.
      const [rows = [], ...labels] = await page
        .locator("body")
        .evaluate((body) =>
          [".day-heat svg rect.heat-0", ".heat-hours li", ".heat-sums li"].map((selector) =>
            [...body.querySelectorAll(selector)].map((each) => Math.round(each.getBoundingClientRect().y)),
          ),
        );
      expect(rows.length).toBeGreaterThanOrEqual(24);
      const [first = ""] = await page.locator(".heat-hours li").allInnerTexts();
      expect(first).toMatch(/^(△ )?\w{3} \d\d$/);
      for (const of of labels) {
        expect(of).toHaveLength(rows.length);
        expect(Math.max(...of.map((top, row) => Math.abs(top - (rows[row] ?? 0))))).toBeLessThanOrEqual(1);
      }
      await tab.close();
    },
  );

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
    await page.getByRole("slider", { name: "Minute of the map" }).focus();
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

  test.each([390, 1_440].flatMap((width) => (["light", "dark"] as const).map((theme) => ({ width, theme }))))(
    "The running hour of the week is marked as begun, and estimates say that they are, at $width px in the $theme theme",
    async (look) => {
      const tab = await browser.tab(look);
      const { page } = tab;
      await page.route("**/v1/forecast*", async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, json: { ...(await answer.json()), exact: false } });
      });
      await tab.open("/load?view=week");
      const begun = page.locator(".week-heat td.begun");
      expect(await begun.count()).toBe(1);
      expect(await begun.getAttribute("title")).toMatch(/: about [\d,]+ runs? in the rest of this hour$/);
      await page.getByText("this hour, what is left of it").waitFor();
      await page.getByText(/^about [\d,]+ runs; hours of Europe/).waitFor();
      await page.getByRole("link", { name: /: about [\d,]+ runs/ }).waitFor();
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await tab.close();
    },
  );

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
