import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { chromium } from "../support/chromium.ts";
import { chooseZone, type OwnBrowser } from "./browser.ts";
import { filledPage, gapKey } from "./filled.ts";
import { axeFaults } from "./look-faults.ts";
import { withBrowser } from "./with-browser.ts";

/** A schedule of New York; the reader is in Berlin. */
const awayKey = "crm:contact:0001";

describe.runIf(chromium !== undefined)("the zone switch (needs Chromium)", () => {
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    browser = opened.browser;
  });

  const button = (page: Page) => page.getByRole("button", { name: "Zone of all times" });
  const options = (page: Page) => page.getByRole("option");
  const zoneIn = (page: Page) => new URL(page.url()).searchParams.get("zone");

  test("The list of zones begins with the shown one, the reader's, UTC, and on a schedule with its own", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    const firstOf = async (view: string, n: number) => {
      await tab.open(view);
      await button(page).click();
      await options(page).nth(n).waitFor();
      return (await options(page).allInnerTexts()).slice(0, n).map((text) => text.replace(/\s+/, " "));
    };
    const near = ["Europe/Berlin yours, shown now", "UTC"];
    for (const view of [`/schedules/${awayKey}`, `/schedules/${awayKey}/edit`])
      expect(await firstOf(view, 3)).toEqual([...near, "America/New_York of this schedule"]);
    expect(await firstOf(`/schedules/${gapKey}`, 3)).toEqual([
      "Europe/Berlin yours, of this schedule, shown now",
      "UTC",
      "Africa/Abidjan",
    ]);
    expect(await firstOf("/schedules", 3)).toEqual([...near, "Africa/Abidjan"]);
    await tab.close();
  });

  test("The chosen zone stays in the address when a link is followed, until the reader's own is chosen", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open(`/schedules/${awayKey}`);
    await chooseZone(page, "America/New_York");
    const next = page.getByRole("link", { name: "tomorrow 07:01" }).first();
    await next.click();
    await page.waitForURL(/why=/);
    expect(zoneIn(page)).toBe("America/New_York");
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Schedules" }).click();
    await page.getByRole("heading", { name: "Schedules" }).waitFor();
    expect(zoneIn(page)).toBe("America/New_York");
    await chooseZone(page, "Asia/Tokyo");
    await page.waitForURL(({ searchParams }) => searchParams.get("zone") === "Asia/Tokyo");
    await chooseZone(page, "Europe/Berlin");
    await page.waitForURL(({ searchParams }) => !searchParams.has("zone"));
    await tab.close();
  });

  test.each([390, 1_440])("A part of a name finds a zone with the keys alone, at %i px", async (width) => {
    const tab = await browser.tab({ width });
    const { page } = tab;
    await tab.open("/schedules");
    await button(page).focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Find a zone").waitFor();
    await page.keyboard.type("new yo");
    await options(page).nth(1).waitFor({ state: "detached" });
    expect(await axeFaults(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.waitForURL(({ searchParams }) => searchParams.get("zone") === "America/New_York");
    await page.getByRole("button", { name: "Zone of all times: America/New_York" }).waitFor();
    await button(page).press("Enter");
    await page.getByLabel("Find a zone").fill("nowhere");
    await page.getByText("No zone has this in its name.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel("Find a zone").waitFor({ state: "detached" });
    expect(zoneIn(page)).toBe("America/New_York");
    expect(tab.faults).toEqual([]);
    await tab.close();
  });
});
