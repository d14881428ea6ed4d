import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromium } from "../support/chromium.ts";
import type { OwnBrowser, Tab } from "./browser.ts";
import { deadKey, filledPage, gapKey } from "./filled.ts";
import { axeFaults, contrastFaults, textFaults } from "./look-faults.ts";
import type { OwnPage } from "./own-page.ts";
import { withBrowser } from "./with-browser.ts";

/** `CARILLON_PICTURES=<folder>` keeps a picture of each view, to be looked at. */
const pictures = process.env["CARILLON_PICTURES"];

const views = [
  "/",
  "/schedules",
  "/schedules?zone=UTC",
  `/schedules/${gapKey}`,
  `/schedules/${gapKey}?why=2026-03-29T01:00:00.000Z`,
  `/schedules/${deadKey}`,
  "/schedules/crm:contact:0001?zone=America/New_York",
  "/jobs?zone=UTC",
  "/jobs?state=dead",
  "/jobs/{dead}",
  "/agenda?from=2026-03-29T00:30:00.000Z&to=2026-03-29T03:00:00.000Z",
  "/load?zone=UTC",
  "/load?spread=10m",
  "/load?view=day&spread=10m",
  "/load?view=week",
  "/holds",
  "/holds?zone=Asia/Kathmandu",
  "/nowhere",
];

/** A phone and a desk; pictures are of a small window too. */
const widths = [390, ...(pictures === undefined ? [] : [1_024]), 1_440];

async function picture(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return;
  const file = `${name.replaceAll(/[^\w-]+/g, "_")}.png`;
  await page.screenshot({ path: path.join(pictures, file), fullPage: true });
}

describe.runIf(chromium !== undefined)("the views in a browser (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;
  let dead: string;

  withBrowser(filledPage, async (opened) => {
    ({ own, browser } = opened);
    const [job] = (await own.client.jobs.list({ state: "dead", key: deadKey, limit: 1 }).page()).items;
    dead = job?.id ?? "";
  });

  describe.each(widths)("at %i px", (width) => {
    let tab: Tab;

    beforeAll(async () => {
      tab = await browser.tab({ width });
    });

    afterAll(() => tab.close());

    test.each(views)(`%s can be read at ${width} px, in the light and in the dark theme`, async (view) => {
      await tab.open(view.replace("{dead}", dead));
      const { page } = tab;
      expect(await page.getByRole("alert").allTextContents()).toEqual([]);
      const faults = [...(await textFaults(page)), ...(await axeFaults(page))];
      await picture(page, `${view} ${width} light`);
      await page.emulateMedia({ colorScheme: "dark" });
      faults.push(...(await contrastFaults(page)));
      await picture(page, `${view} ${width} dark`);
      await page.emulateMedia({ colorScheme: "light" });
      expect([...faults, ...tab.faults.splice(0)]).toEqual([]);
    });
  });

  test("The requests of the views are those of the API's document", () => {
    expect(own.contradictions).toEqual([]);
  });
});
