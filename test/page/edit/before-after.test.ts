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
      await page.getByText("20 of the next 20 runs move, each 1 h later.").waitFor();
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await tab.close();
    },
  );

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
