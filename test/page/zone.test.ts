import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { chromium } from "../support/chromium.ts";
import type { OwnBrowser } from "./browser.ts";
import { filledPage, gapKey } from "./filled.ts";
import { withBrowser } from "./with-browser.ts";

/** A schedule of New York; the reader is in Berlin. */
const awayKey = "crm:contact:0001";

describe.runIf(chromium !== undefined)("the zone switch (needs Chromium)", () => {
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    browser = opened.browser;
  });

  const zones = (page: Page) => page.getByLabel("Zone of all times");
  const choices = (page: Page) => zones(page).locator(":scope > option").allTextContents();
  const zoneIn = (page: Page) => new URL(page.url()).searchParams.get("zone");

  test("A schedule and its editor offer the schedule's own zone by name, and a list does not", async () => {
    const tab = await browser.tab();
    for (const view of [`/schedules/${awayKey}`, `/schedules/${awayKey}/edit`]) {
      await tab.open(view);
      expect(await choices(tab.page)).toEqual(["Europe/Berlin", "UTC", "America/New_York, of this schedule"]);
    }
    await tab.open(`/schedules/${gapKey}`);
    expect(await choices(tab.page)).toEqual(["Europe/Berlin", "UTC"]);
    await tab.open("/schedules");
    expect(await choices(tab.page)).toEqual(["Europe/Berlin", "UTC"]);
    await tab.close();
  });

  test("The chosen zone stays in the address when a link is followed, until the reader's own is chosen", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open(`/schedules/${awayKey}`);
    await zones(page).selectOption("America/New_York");
    const next = page.getByRole("link", { name: "tomorrow 07:01" }).first();
    await next.click();
    await page.waitForURL(/why=/);
    expect(zoneIn(page)).toBe("America/New_York");
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Schedules" }).click();
    await page.getByRole("heading", { name: "Schedules" }).waitFor();
    expect(zoneIn(page)).toBe("America/New_York");
    await zones(page).focus();
    await zones(page).selectOption("Asia/Tokyo");
    await page.waitForURL(({ searchParams }) => searchParams.get("zone") === "Asia/Tokyo");
    await zones(page).selectOption("Europe/Berlin");
    await page.waitForURL(({ searchParams }) => !searchParams.has("zone"));
    expect(await choices(page)).toEqual(["Europe/Berlin", "UTC"]);
    await tab.close();
  });
});
