import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import { until } from "../../support/until.ts";
import type { OwnBrowser } from "../browser.ts";
import { filledPage } from "../filled.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

/** Waits until the focus is on the link with this address. */
const focusOn = (page: Page, href: string | null) =>
  until(`the focus is on ${href}`, () =>
    page.evaluate<boolean>(`document.activeElement.getAttribute("href") === ${JSON.stringify(href)}`),
  );

describe.runIf(chromium !== undefined)("going back to a list (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  test("After Back to the schedules, the row that was opened far down has the focus and is on the screen", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules");
    const link = page.getByRole("link", { name: "crm:contact:0060" });
    while (!(await link.isVisible())) await page.mouse.wheel(0, 600);
    const href = await link.getAttribute("href");
    await link.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "crm:contact:0060" }).waitFor();
    await page.goBack();
    await focusOn(page, href);
    const box = await link.boundingBox();
    expect(box?.y).toBeGreaterThan(0);
    expect(box?.y).toBeLessThan(900);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "crm:contact:0060" }).waitFor();
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("After Back to the jobs, the link that was followed has the focus, and a new visit begins at the content", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/jobs?state=dead");
    const link = page.getByRole("row").nth(3).getByRole("link", { name: "show" });
    const href = await link.getAttribute("href");
    await link.click();
    await page.waitForURL(/jobs\/./);
    // The address comes before the view, whose code is loaded first.
    await page.getByRole("table", { name: "Jobs" }).waitFor({ state: "detached" });
    await page.goBack();
    await focusOn(page, href);
    await page.getByRole("link", { name: "Now", exact: true }).click();
    await page.waitForURL(`${own.url}/`);
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    await until("the content has the focus", () =>
      page.evaluate<boolean>(`document.activeElement.id === "main"`),
    );
    await tab.close();
  });

  test("After Back to a list in which the row is gone, the focus is at its content", async () => {
    const key = "crm:contact:0009";
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules?prefix=crm:contact:000");
    await page.getByRole("link", { name: key }).click();
    await page.getByRole("heading", { name: key }).waitFor();
    await own.client.schedules.delete(key);
    await page.goBack();
    await page.getByRole("link", { name: "crm:contact:0008" }).waitFor();
    // The view refreshes its list every 15 seconds.
    await page.clock.fastForward(16_000);
    await page.getByRole("link", { name: key }).waitFor({ state: "detached" });
    await until("no row has the focus", () =>
      page.evaluate<boolean>(`document.activeElement.matches("body, #main")`),
    );
    await tab.close();
  });
});
