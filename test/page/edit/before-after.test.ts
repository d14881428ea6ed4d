import type { Page } from "playwright-core";
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
    "An edit says how many runs move and by how much, above both lists ($width px, $theme)",
    async (look) => {
      const key = `moved:${look.theme}`;
      await own.client.schedules.put(key, daily);
      const tab = await browser.tab(look);
      const { page } = tab;
      await tab.open(`/schedules/${key}/edit`);
      await page.getByText("No run moves.", { exact: true }).waitFor();
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
      "Until this edit: 2027-03-28 02:30 does not exist in Europe/Berlin; it runs at 03:00 then.",
    );
    await ended.getByRole("button", { name: "Show how that day changes" }).click();
    await page.getByText("Sun 2027-03-28 03:30:00").waitFor();
    expect(await page.getByLabel("Show runs from").inputValue()).toContain("2027-03-28");
    await tab.close();
  });

  test("A run stands beside that which the edit makes of it, also where one of both has a note", async () => {
    await own.client.schedules.put("gap", { ...daily, when: "30 1 * * *" });
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/gap/edit");
    // On the day of the clock change this time does not exist, which a note says.
    await page.getByLabel("When", { exact: true }).fill("30 2 * * *");
    await page.locator(".run-list .note").first().waitFor();
    await settled(page);
    const [before, after] = [await tops(page, 0), await tops(page, 1)];
    expect(before).toHaveLength(20);
    expect(after).toEqual(before);
    await tab.close();
  });
});

/** Where the rows of one of the lists begin. */
const tops = (page: Page, list: number) =>
  page.evaluate<number[]>(
    `[...document.querySelectorAll(".run-list ol")[${list}].children].map((each) => Math.round(each.getBoundingClientRect().top))`,
  );
