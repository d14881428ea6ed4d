import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { filledPage } from "../filled.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

describe.runIf(chromium !== undefined)("the list of jobs (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  test("The errors of dead jobs mark the chosen one, and leave the panel once their jobs are retried", async () => {
    const { items } = await own.client.jobs.groups();
    const [first] = items;
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/jobs?state=dead");
    const groups = page.locator(".groups > li");
    await groups.first().waitFor();
    expect(await groups.count()).toBe(items.length);
    await groups.first().getByRole("button", { name: "Show" }).click();
    await page.locator('.groups > li[aria-current="true"]').waitFor();
    expect(await page.getByRole("list", { name: "Further filters" }).textContent()).toContain(first?.error);
    await page.getByRole("button", { name: "Retry all that match …" }).click();
    await page.getByRole("button", { name: /^Retry \d+ jobs?$/ }).click();
    await page.getByRole("heading", { name: "Done" }).waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.locator('.groups > li[aria-current="true"]').waitFor({ state: "detached" });
    expect(await groups.count()).toBe(items.length - 1);
    await tab.close();
  });
});
