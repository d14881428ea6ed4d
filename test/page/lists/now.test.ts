import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import { type OwnBrowser, settled } from "../browser.ts";
import { filledPage } from "../filled.ts";
import { contrast } from "../look-faults.ts";
import { adminToken, type OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

const coming = (page: Page) => page.getByRole("region", { name: "What comes next" });

/** Puts `empty` pages before the server's answer, or only empty ones. Returns how many were asked for. */
async function emptyPages(page: Page, empty: number): Promise<() => number> {
  let asked = 0;
  await page.route(/\/v1\/occurrences\?/, async (route) => {
    asked += 1;
    const url = new URL(route.request().url());
    url.searchParams.delete("cursor");
    const answer = await route.fetch({ url: url.href });
    if (asked > empty) return route.fulfill({ response: answer });
    const json: object = await answer.json();
    return route.fulfill({ response: answer, json: { ...json, items: [], cursor: `page-${asked}` } });
  });
  return () => asked;
}

describe.runIf(chromium !== undefined)("the view Now (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  test("Now shows the next runs although the first pages of the agenda are empty", async () => {
    const tab = await browser.tab();
    const asked = await emptyPages(tab.page, 2);
    await tab.open("/");
    await coming(tab.page).locator("li").nth(7).waitFor();
    expect(asked()).toBe(3);
    expect(await coming(tab.page).innerText()).not.toMatch(/Nothing|search/);
    await tab.close();
  });

  test("Now says that its search for the next runs ended, and never that nothing is due, where a cursor is left", async () => {
    const tab = await browser.tab();
    const asked = await emptyPages(tab.page, 8);
    await tab.open("/");
    await coming(tab.page).getByText("No run was found so far").waitFor();
    expect(asked()).toBe(8);
    expect(await coming(tab.page).innerText()).not.toContain("Nothing");
    await tab.page.unrouteAll();
    await coming(tab.page).getByRole("link", { name: "Search on in the agenda" }).click();
    await tab.page.waitForURL(/\/agenda\?from=.*to=/);
    await settled(tab.page);
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("The command of a problem is copied whole by a button that its problem tells apart, and is its hint", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await tab.open("/");
    const buttons = page.locator(".problems").getByRole("button", { name: /^Copy as carillon/ });
    const names = await buttons.allInnerTexts();
    expect(new Set(names).size).toBe(4);
    const button = buttons.filter({ hasText: "HTTP 503" });
    const hint = await button.getAttribute("title");
    await button.click();
    await page.getByRole("button", { name: "copied" }).waitFor();
    expect(await page.evaluate<string>("navigator.clipboard.readText()")).toMatch(
      /^carillon jobs --state dead --error-group \S+/,
    );
    expect(hint).toBe(`Copy: ${await page.evaluate<string>("navigator.clipboard.readText()")}`);
    await tab.close();
  });

  test("The times and the buttons of all problems stand beneath each other", async () => {
    const tab = await browser.tab();
    await tab.open("/");
    for (const part of [".since", ".problem-actions"])
      expect(await endsOf(tab.page, `.problems ${part}`), part).toHaveLength(1);
    await tab.close();
  });

  test("Now tells apart the attempts of an hour, the jobs that died in it and those that are dead now", async () => {
    const { lastHour, jobs } = await own.client.stats();
    const tab = await browser.tab({ theme: "dark" });
    const { page } = tab;
    await tab.open("/");
    await page
      .locator(".facts")
      .getByText(/^attempts in the last hour/)
      .waitFor();
    await page.locator(".facts").getByText("jobs that are dead now").waitFor();
    const note = await page.locator(".minute-note").innerText();
    expect(note).toMatch(/^In the last hour: .* died.*\. In the next one: [\d,]+ planned\./);
    const figures = await page.locator(".facts dd").allInnerTexts();
    expect(figures[1]).toBe(String((lastHour?.succeeded ?? 0) + (lastHour?.failed ?? 0)));
    expect(figures[3]).toBe(String(jobs.dead.count));
    const colours = await page.evaluate<string[]>(
      `[getComputedStyle(document.querySelector(".bar-planned")).fill, getComputedStyle(document.querySelector(".panel")).backgroundColor]`,
    );
    expect(contrast(colours)).toBeGreaterThan(3);
    await tab.close();
  });

  test("A figure of Now that leads to a list looks like a link", async () => {
    const tab = await browser.tab();
    await tab.open("/");
    const lines = await tab.page.evaluate<string[]>(
      `[...document.querySelectorAll(".facts dt a")].map((link) => getComputedStyle(link).textDecorationLine)`,
    );
    expect(lines.slice(0, 2)).toEqual(["underline", "underline"]);
    await tab.close();
  });

  test.each([390, 1_024, 1_440])(
    "Nothing on Now moves when its figures arrive after its verdict, at %i px",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      const { promise: gate, resolve: answer } = Promise.withResolvers<void>();
      await page.route(/\/v1\/(stats|series|forecast)/, async (route) => {
        await gate;
        await route.continue();
      });
      await page.goto(`${own.url}/#token=${adminToken}`);
      await page.getByRole("region", { name: "Needs attention" }).waitFor();
      const before = await places(page);
      answer();
      await page.getByText("active schedules of 160").waitFor();
      await page.getByText("The last tick was").waitFor();
      await page.getByText(/^In the last hour: \d/).waitFor();
      await page.getByText(/busiest minute of the next hour, \d\d:/).waitFor();
      expect(await places(page)).toEqual(before);
      await tab.close();
    },
  );
});

/** Where the parts of the view begin. */
const places = (page: Page) =>
  page.evaluate<number[]>(
    `[...document.querySelectorAll(".facts, .panel, .verdict-text")].map((each) => each.getBoundingClientRect().top)`,
  );

/** The different right edges of what a selector finds. */
const endsOf = (page: Page, selector: string) =>
  page.evaluate<number[]>(
    `[...new Set([...document.querySelectorAll(${JSON.stringify(selector)})].map((each) => Math.round(each.getBoundingClientRect().right)))]`,
  );
