import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import { chooseZone, type OwnBrowser } from "../browser.ts";
import { emptyPage } from "../filled.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

describe.runIf(chromium !== undefined)("the bar above all views (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(emptyPage, (opened) => {
    ({ own, browser } = opened);
  });

  test.each([
    { width: 390, theme: "dark" },
    { width: 1_440, theme: "light" },
  ] as const)(
    "Every view says that its times are not in the reader's zone, and one press leads back, at $width px",
    async (look) => {
      const tab = await browser.tab(look);
      const { page } = tab;
      const note = page.getByText("Times in Asia/Tokyo, not your zone");
      for (const view of ["/", "/schedules", "/agenda", "/new"]) {
        await tab.open(`${view}?zone=Asia/Tokyo`);
        await note.waitFor();
        expect((await note.boundingBox())?.y).toBeLessThan(200);
        expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      }
      await page.getByRole("button", { name: "Back to Europe/Berlin" }).click();
      await page.waitForURL(({ searchParams }) => !searchParams.has("zone"));
      expect(await note.count()).toBe(0);
      await chooseZone(page, "UTC");
      await page.getByText("Times in UTC, not your zone").waitFor();
      await tab.close();
    },
  );

  test("A zone that does not exist is not said to be shown", async () => {
    const tab = await browser.tab();
    await tab.open("/?zone=Europe/Nowhere");
    await tab.page.getByRole("button", { name: "Zone of all times: Europe/Berlin" }).waitFor();
    expect(await tab.page.getByText("not your zone").count()).toBe(0);
    await tab.close();
  });

  test("A new schedule keeps the zone that it began in when the screen goes back, and says so", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new?zone=Asia/Tokyo");
    await page.getByText("This is the zone that you are looking at. Your own is Europe/Berlin.").waitFor();
    await page.getByRole("button", { name: "Back to Europe/Berlin" }).click();
    await page.getByText("This is the zone that you were looking at. Your own is Europe/Berlin.").waitFor();
    const field = page.getByLabel("Time zone", { exact: true });
    expect(await field.inputValue()).toBe("Asia/Tokyo");
    await page.getByRole("button", { name: "Use Europe/Berlin" }).click();
    expect(await field.inputValue()).toBe("Europe/Berlin");
    await tab.close();
  });

  test("A phone has four views in its bar, large enough for a finger, and the menu begins with the other two", async () => {
    const tab = await browser.tab({ width: 390 });
    const { page } = tab;
    await tab.open("/");
    const views = page.getByRole("navigation", { name: "Views" });
    const more = views.getByRole("button", { name: "More" });
    const targets = [...(await views.getByRole("link").all()), more];
    const boxes = await Promise.all(targets.map((target) => target.boundingBox()));
    expect(boxes.length).toBe(5);
    expect(new Set(boxes.map((box) => box?.y)).size).toBe(1);
    for (const box of boxes) {
      expect(box?.height).toBeGreaterThanOrEqual(44);
      expect(box?.width).toBeGreaterThanOrEqual(44);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
    }
    await more.click();
    expect((await page.locator(".more-list a").allInnerTexts()).slice(0, 3)).toEqual([
      "Load",
      "Holds",
      "Groups",
    ]);
    expect(await overflow(page)).toBe(0);
    await tab.close();
  });

  test.each([
    { width: 390, path: "/holds", isInMenu: true },
    { width: 1_440, path: "/holds", isInMenu: false },
    { width: 1_440, path: "/calendars/holidays", isInMenu: true },
  ])("The menu of the bar is marked where the view $path is one of its own at $width px", async (look) => {
    const tab = await browser.tab({ width: look.width });
    await tab.open(look.path);
    const more = tab.page.getByRole("button", { name: "More" });
    expect(await more.getAttribute("aria-current")).toBe(String(look.isInMenu));
    await tab.close();
  });

  test("The limits of a token stand beneath the views of a phone, and leave these their row", async () => {
    const { token } = await own.client.tokens.create({ name: "reader", scope: "read", prefix: "billing:" });
    const tab = await browser.tab({ width: 390, token });
    const { page } = tab;
    await tab.open("/");
    const note = await page.locator(".token-note").boundingBox();
    const now = await page.getByRole("link", { name: "Now", exact: true }).boundingBox();
    expect(note?.y).toBeGreaterThanOrEqual((now?.y ?? 0) + (now?.height ?? 0));
    expect([...(await textFaults(page)), ...tab.faults]).toEqual([]);
    await tab.close();
  });
});

/** By how many pixels the page is wider than the screen. */
const overflow = (page: Page) =>
  page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
