import type { Locator } from "playwright-core";
import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import { type OwnBrowser, settled } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";
import { daily, editorPage } from "./daily.ts";

describe.runIf(chromium !== undefined)("the runs before and after an edit (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(editorPage, (opened) => {
    ({ own, browser } = opened);
  });

  test.each([
    { width: 390, theme: "dark" },
    { width: 1_440, theme: "light" },
  ] as const)(
    "An edit says how many runs move and by how much, above the list of both ($width px, $theme)",
    async (look) => {
      const key = `moved:${look.theme}`;
      await own.client.schedules.put(key, daily);
      const tab = await browser.tab(look);
      const { page } = tab;
      await tab.open(`/schedules/${key}/edit`);
      await page.getByRole("region", { name: "Coming runs" }).waitFor();
      await page.getByLabel("When", { exact: true }).fill("0 10 * * *");
      await page.getByText("20 of the next 20 runs move, each 1 h later.", { exact: true }).waitFor();
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await tab.close();
    },
  );

  test.each([390, 1_440])(
    "The effect of an edit stands beside the button that saves it, without scrolling, at %i px",
    async (width) => {
      await own.client.schedules.put("beside", daily);
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open("/schedules/beside/edit");
      await page.getByLabel("When", { exact: true }).fill("0 10 * * *");
      const state = page.locator(".save-line > [role=status]");
      await state.getByText("Not saved yet. 20 of the next 20 runs move, each 1 h later.").waitFor();
      const save = await page.getByRole("button", { name: "Save", exact: true }).boundingBox();
      const text = await state.boundingBox();
      const height = page.viewportSize()?.height ?? 0;
      for (const box of [save, text]) {
        expect(box?.y).toBeGreaterThanOrEqual(0);
        expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(height);
      }
      // At the foot of a phone it is there wherever the reader has scrolled to.
      if (width === 390) expect(save?.y).toBeGreaterThan(height - 130);
      await page.evaluate("scrollTo(0, document.body.scrollHeight)");
      const last = await page.locator(".editor > :last-child").boundingBox();
      if (width === 390) expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual((save?.y ?? 0) + 1);
      await tab.close();
    },
  );

  test("An edit that ends a missing hour says so, and shows how the run of that day moves", async () => {
    await own.client.schedules.put("hour", { ...daily, when: "30 2 * * *" });
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/hour/edit");
    await page.getByText("does not exist in Europe/Berlin").waitFor();
    await page.getByLabel("When", { exact: true }).fill("30 3 * * *");
    const ended = page.getByText(
      "No longer with this edit: 2027-03-28 02:30 does not exist in Europe/Berlin; it runs at 03:00 then.",
    );
    await ended.getByRole("button", { name: "Show how that day changes" }).click();
    const moved = page.locator(".run-list li", { hasText: "Sun 2027-03-28" });
    await moved.waitFor();
    expect(await moved.locator("time").allTextContents()).toEqual(["Sun 2027-03-28 03:00", "03:30"]);
    expect(await page.getByLabel("Show runs from").inputValue()).toContain("2027-03-28");
    await tab.close();
  });

  test.each([
    { width: 390, theme: "dark" },
    { width: 1_440, theme: "light" },
  ] as const)(
    "A run that moves has its old and its new time in one row at $width px, and runs that go and come are in the same list",
    async (look) => {
      await own.client.schedules.put("rows", { ...daily, when: "30 2 * * *" });
      const tab = await browser.tab(look);
      const { page } = tab;
      await tab.open("/schedules/rows/edit");
      const when = page.getByLabel("When", { exact: true });
      await when.fill("30 3 * * *");
      const moved = page.locator(".run-list li.moved");
      await moved.first().waitFor();
      expect(await moved.count()).toBe(20);
      expect(await page.locator(".run-list ol").count()).toBe(1);
      expect(await timesOf(moved)).toContainEqual(["Sat 2027-03-27 02:30", "03:30"]);
      // The time does not exist on the day of the clock change.
      expect(await timesOf(moved)).toContainEqual(["Sun 2027-03-28 03:00", "03:30"]);
      for (const time of await moved.first().locator("time").all())
        expect((await time.boundingBox())?.y).toBe(
          (await moved.first().locator("time").first().boundingBox())?.y,
        );
      await when.fill("30 2 * * 1-5");
      const gone = page.locator(".run-list li.gone");
      await gone.first().waitFor();
      expect(await gone.first().innerText()).toMatch(/^−\s*Sat 2027-03-27 02:30\s*goes$/);
      await when.fill("30 2,14 * * *");
      const added = page.locator(".run-list li.new");
      await added.first().waitFor();
      expect(await added.first().innerText()).toMatch(/^\+\s*Fri 2027-03-26 14:30\s*new$/);
      expect(await moved.count()).toBe(0);
      await settled(page);
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await tab.close();
    },
  );

  test("The runs of an edit of the zone are on the clocks of one zone, before and after", async () => {
    await own.client.schedules.put("zone", daily);
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/zone/edit");
    await page.getByLabel("Time zone", { exact: true }).fill("Asia/Tokyo");
    const moved = page.locator(".run-list li.moved");
    await moved.first().waitFor();
    expect((await timesOf(moved))[0]).toEqual(["Sat 2027-03-27 17:00", "09:00"]);
    await page.getByRole("heading", { name: /times in Asia\/Tokyo$/ }).waitFor();
    await tab.close();
  });

  test("That no run moves is said once, beside the button, and the runs are then listed once", async () => {
    await own.client.schedules.put("once", daily);
    const tab = await browser.tab({ width: 390 });
    const { page } = tab;
    await tab.open("/schedules/once/edit");
    await page.getByLabel("Description").fill("the same times");
    await page.locator(".save-line").getByText("Not saved yet. No run moves.").waitFor();
    expect(await page.getByText(/no run moves/i).count()).toBe(1);
    expect(await page.locator(".run-list li").count()).toBe(20);
    await tab.close();
  });

  test.each(["30 2 * * 1-5", "*/5 8-17 1,15 * 1-5"])(
    "The expression %s is not broken between its fields on a phone",
    async (expression) => {
      await own.client.schedules.put("whole", { ...daily, when: expression });
      const tab = await browser.tab({ width: 390 });
      await tab.open("/schedules/whole/edit");
      const heights = await tab.page.evaluate<number[]>(
        `[...document.querySelectorAll("code.whole")].map((each) => each.getBoundingClientRect().height)`,
      );
      // A line has 18 px.
      expect(Math.max(...heights)).toBeLessThan(30);
      expect(await tab.page.locator(".sentence code.whole").count()).toBe(2);
      await tab.close();
    },
  );
});

/** The times of rows: of a run that moves, both. */
const timesOf = async (rows: Locator) =>
  Promise.all((await rows.all()).map((row) => row.locator("time").allTextContents()));
