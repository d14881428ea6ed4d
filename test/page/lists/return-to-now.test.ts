import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { filledPage } from "../filled.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

/** Hides the tab, or shows it again, as the browser tells a page. */
const show = (page: Page, state: "hidden" | "visible") =>
  page.evaluate(`
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "${state}" });
    Object.defineProperty(document, "hidden", { configurable: true, get: () => ${state === "hidden"} });
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));`);

describe.runIf(chromium !== undefined)("a tab that is shown again (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  test.each(["/", "/schedules", "/outages"])(
    "%s says that it refreshes, and tells no age, until its new answer is there",
    async (view) => {
      const tab = await browser.tab();
      const { page } = tab;
      await tab.open(view);
      await page.getByText("updated just now").waitFor();
      await show(page, "hidden");
      await page.clock.fastForward(100_000);
      const { promise: gate, resolve: answer } = Promise.withResolvers<void>();
      await page.route("**/v1/**", async (route) => {
        await gate;
        await route.continue();
      });
      await show(page, "visible");
      await page.getByText("Refreshing …").waitFor();
      const text = await page.locator("main").innerText();
      expect(text).not.toMatch(/updated|The last tick was/);
      expect(await page.locator(".lamp.none").count()).toBe(view === "/" ? 1 : 0);
      answer();
      await page.getByText("updated just now").waitFor();
      expect(await page.getByText("Refreshing …").count()).toBe(0);
      await tab.close();
    },
  );

  test("The age of the last tick on Now is that of the answer, and does not grow while the refresh is paused", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/");
    const before = await page.locator(".verdict-text").innerText();
    expect(before).toContain("The last tick was");
    await page.getByRole("button", { name: "pause refresh" }).click();
    await page.clock.fastForward(240_000);
    await page.getByText("refresh paused, updated 4 min ago").waitFor();
    expect(await page.locator(".verdict-text").innerText()).toBe(before);
    await tab.close();
  });

  test("Now says that jobs died in an hour, and from when the oldest dead one is", async () => {
    const tab = await browser.tab();
    await tab.open("/");
    const { page } = tab;
    await page
      .locator(".minute-note")
      .getByText(/In the last hour: .*\d died/)
      .waitFor();
    expect(await page.locator(".legend").first().innerText()).toContain("died");
    expect(await page.locator(".since").allInnerTexts()).toContainEqual(
      expect.stringMatching(/^oldest from \d\d:\d\d/),
    );
    await tab.close();
  });

  test("Now leads a token that may write to a new schedule, and another one not", async () => {
    const { token } = await own.client.tokens.create({ name: "reader", scope: "read" });
    const reader = await browser.tab({ token });
    await reader.open("/");
    expect(await reader.page.getByRole("link", { name: "New schedule" }).count()).toBe(0);
    await reader.close();
    const tab = await browser.tab();
    await tab.open("/");
    await tab.page.getByRole("link", { name: "New schedule" }).click();
    await tab.page.getByRole("heading", { name: "New schedule" }).waitFor();
    await tab.close();
  });
});
