import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { axeFaults, contrast, textFaults } from "../look-faults.ts";
import { type OwnPage, ownPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

const looks = [390, 1_440].flatMap((width) =>
  (["light", "dark"] as const).map((theme) => ({ width, theme })),
);
/** As WCAG asks for drawings. */
const leastContrast = 3;

describe.runIf(chromium !== undefined)("the curve of the load (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(
    async () => {
      const filled = await ownPage("2026-03-02T22:30:00.000Z");
      const many = (name: string, when: string, count: number) =>
        Array.from({ length: count }, (_, n) => ({
          put: { key: `${name}:${n}`, when, target: { queue: "crm" } },
        }));
      await filled.client.batch([...many("early", "25 19 * * *", 30), ...many("night", "0 0 * * *", 5)]);
      await filled.client.schedules.pause("night:0", { reason: "a move" });
      return filled;
    },
    (opened) => {
      ({ own, browser } = opened);
    },
  );

  test.each(looks)(
    "The number of the busiest minute stands beside a mark at this minute, at $width px in the $theme theme",
    async (look) => {
      const tab = await browser.tab(look);
      const { page } = tab;
      await tab.open("/load?zone=UTC");
      const label = page.locator(".curve-most > span");
      expect(await label.innerText()).toContain("30 at 19:25");
      const mark = await label.locator("i").boundingBox();
      const curve = await page.locator(".curve").boundingBox();
      const text = await label.locator("span").boundingBox();
      const { minutes } = await own.client.forecast({ minutes: 1_440 });
      const place = minutes.findIndex(({ at }) => at.toString().slice(11, 16) === "19:25");
      const ends = (box: typeof mark) => [box?.x ?? 0, (box?.x ?? 0) + (box?.width ?? 0)] as const;
      const [left, right] = ends(curve);
      const minute = left + ((place + 0.5) / minutes.length) * (right - left);
      expect(Math.abs((ends(mark)[0] + ends(mark)[1]) / 2 - minute)).toBeLessThan(1.5);
      // The words are within the drawing, and not over the line of the chosen minute.
      expect(ends(text)[0]).toBeGreaterThan(left + ((90 + 0.5) / minutes.length) * (right - left));
      expect(ends(text)[1]).toBeLessThanOrEqual(right);
      const colours = await page.evaluate<string[]>(
        `[getComputedStyle(document.querySelector(".curve .within")).fill, getComputedStyle(document.querySelector(".curve").closest(".panel")).backgroundColor]`,
      );
      expect(contrast(colours)).toBeGreaterThanOrEqual(leastContrast);
      await tab.close();
    },
  );

  test.each(looks)(
    "A press on the scale of the spread sets it, and both curves have a legend, at $width px in the $theme theme",
    async (look) => {
      const tab = await browser.tab(look);
      const { page } = tab;
      await tab.open("/load?zone=UTC");
      expect(await page.locator(".mark-line").count()).toBe(0);
      expect(await page.locator(".what-if .lead").innerText()).toContain(
        "A spread of 1h on schedules that run together would lower it to 1.",
      );
      const stops = page.locator(".spread-scale").getByRole("button");
      for (const stop of await stops.all()) {
        const box = await stop.boundingBox();
        expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(24);
      }
      await page.getByRole("button", { name: "a spread of 15m" }).click();
      await page.getByText("With a spread of 15m, the busiest minute has").waitFor();
      expect(await page.getByRole("slider", { name: "What if" }).inputValue()).toBe("5");
      await page.getByText("with the spread", { exact: true }).waitFor();
      await page.getByText("as planned", { exact: true }).waitFor();
      expect(page.url()).toContain("spread=15m");
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await page.getByRole("button", { name: "0, no spread" }).click();
      await page.locator(".mark-line").waitFor({ state: "detached" });
      await tab.close();
    },
  );

  test("A minute has one number in the load and another in the agenda, and both say which runs they count", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/load?zone=UTC");
    const note = page.locator(".minute-note").first();
    expect(await note.innerText()).toMatch(/00:00: 4 runs, held ones left out$/);
    await page.getByText("of the next day, held runs left out, moved by their spreads").waitFor();
    await note.getByRole("link").click();
    await page.getByText("5 occurrences of 1 expression, before holds").waitFor();
    await page
      .getByText("The load leaves held runs out. It counts a run in the minute to which its spread")
      .waitFor();
    await tab.close();
  });

  test("The load says how many held runs its busiest minute leaves out, and leads to them", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/load?zone=UTC&prefix=night");
    await page.getByText(/^1 held run of tomorrow 00:00 is not counted; the agenda lists it\.$/).waitFor();
    await page.getByRole("link", { name: "the agenda lists it" }).click();
    await page.getByText(/^1 run of 1 schedule is held ·/).waitFor();
    await page.getByRole("list", { name: "Held schedules" }).getByText("night:0").waitFor();
    await tab.close();
  });

  test("Each number of an estimate says that it is one", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await page.route("**/v1/forecast*", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), exact: false } });
    });
    await tab.open("/load?zone=UTC&spread=5m");
    await page.getByText("the busiest minute has about 6 runs instead of about 30").waitFor();
    await page
      .getByText(/^Around midnight on Tue,? 3 Mar, UTC, .* with about 4 runs; .* at most about \d/)
      .waitFor();
    expect(await page.locator(".curve-most").innerText()).toContain("about 30 at 19:25");
    await page.getByText("estimates, of the next day, held runs left out").waitFor();
    await page.getByText(/^estimates, of about \d+ runs$/).waitFor();
    await page.getByText(/00:00: about 4 runs, held ones left out, with the spread about \d/).waitFor();
    await page.getByRole("link", { name: "Next day" }).click();
    await page.getByText(/^Of these minutes the busiest is \d\d:\d\d with about 6 runs\.$/).waitFor();
    await tab.close();
  });

  test("Now and the load say for which time a minute is the busiest", async () => {
    const tab = await browser.tab();
    await tab.open("/load?zone=UTC&minutes=60");
    expect(await tab.page.locator(".what-if .lead").innerText()).toMatch(/No run is planned/);
    await tab.page.getByLabel("Ahead").selectOption("240");
    await tab.page.getByText("In the next 4 hours the heaviest minute is").waitFor();
    await tab.close();
  });
});
