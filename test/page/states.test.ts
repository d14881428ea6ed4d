import { describe, expect, test } from "vitest";
import { chromium } from "../support/chromium.ts";
import { chooseZone, type OwnBrowser } from "./browser.ts";
import { filledPage } from "./filled.ts";
import type { OwnPage } from "./own-page.ts";
import { withBrowser } from "./with-browser.ts";

const views = ["/", "/schedules", "/jobs", "/agenda", "/load", "/holds"];

describe.runIf(chromium !== undefined)("the states of the page (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  test("A view that has no answer yet says that the API is away, and comes back with it", async () => {
    const tab = await browser.tab();
    await tab.page.route("**/v1/**", (route) => route.abort("connectionrefused"));
    for (const view of views) {
      await tab.page.goto(`${own.url}${view}#token=admin-token`);
      await tab.page.clock.fastForward(5_000);
      const alert = tab.page.getByRole("alert").first();
      await alert.waitFor();
      expect(await alert.textContent()).toContain("The API does not answer");
    }
    await tab.page.unroute("**/v1/**");
    await tab.page.getByRole("button", { name: "Try again" }).first().click();
    await tab.page.getByRole("table", { name: "Holds" }).waitFor();
    expect(await tab.page.getByRole("alert").count()).toBe(0);
    await tab.close();
  });

  test("A view whose API goes away keeps its answer, says how old it is, and refreshes when the API is back", async () => {
    const tab = await browser.tab();
    await tab.open("/");
    const headline = await tab.page.locator("h1").textContent();
    await own.goAway();
    await tab.page.clock.fastForward(180_000);
    const notice = tab.page.getByRole("status").filter({ hasText: "The API does not answer" });
    await notice.waitFor();
    expect(await notice.textContent()).toMatch(/This is 3 min( \d+ s)? old/);
    expect(await tab.page.locator("h1").textContent()).toBe(headline);
    await tab.page.locator(".verdict .lamp.none").waitFor();
    await own.comeBack();
    await notice.getByRole("button", { name: "Try again" }).click();
    await notice.waitFor({ state: "detached" });
    await tab.page.getByText("updated just now").waitFor();
    await tab.close();
  });

  test("An answer that takes long is said to, and a view without it shows nothing wrong", async () => {
    const tab = await browser.tab();
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    await tab.page.route("**/v1/**", async (route) => {
      await gate;
      await route.continue();
    });
    for (const view of views) {
      await tab.page.goto(`${own.url}${view}#token=admin-token`);
      await tab.page.locator('[aria-busy="true"]').first().waitFor();
      await tab.page.clock.fastForward(4_000);
      await tab.page.getByText("The API takes long to answer").first().waitFor();
    }
    open();
    await tab.page.getByRole("table", { name: "Holds" }).waitFor();
    await tab.close();
  });

  test("A view whose refresh is paused asks nothing more, and says how old it is", async () => {
    const tab = await browser.tab();
    await tab.open("/");
    await tab.page.getByRole("button", { name: "pause refresh" }).click();
    const asked: string[] = [];
    tab.page.on("request", (request) => asked.push(request.url()));
    await tab.page.clock.fastForward(240_000);
    await tab.page.getByText("refresh paused, updated 4 min ago").waitFor();
    expect(asked).toEqual([]);
    await tab.page.getByRole("button", { name: "resume" }).click();
    await tab.page.clock.fastForward(6_000);
    await tab.page.getByText("updated just now").waitFor();
    await tab.close();
  });

  test("A filter is in the address, and a reload shows the same", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules");
    await page.getByLabel("Key begins with").fill("device:");
    await page.getByLabel("State").selectOption("active");
    await page.waitForURL(
      ({ searchParams }) =>
        searchParams.get("prefix") === "device:" && searchParams.get("state") === "active",
    );
    const keys = page.locator("td.key");
    await page.getByText("2 match").waitFor();
    await keys.nth(1).waitFor();
    const before = await keys.allTextContents();
    expect(before).toEqual(["device:meter:0042:reading", "device:meter:0043:reading"]);
    await page.reload();
    await page.getByText("2 match").waitFor();
    await keys.nth(1).waitFor();
    expect(await keys.allTextContents()).toEqual(before);
    expect(await page.getByLabel("Key begins with").inputValue()).toBe("device:");
    await chooseZone(page, "UTC");
    await page.waitForURL(/zone=UTC/);
    await page.reload();
    await page.getByText("2 match").waitFor();
    await page.getByRole("button", { name: "Zone of all times: UTC" }).waitFor();
    await tab.close();
  });
});
