import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import { type OwnPage, ownPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

const begin = "2027-03-26T12:00:00.000Z";
const target = { queue: "reports" };

describe.runIf(chromium !== undefined)("times in a browser (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(
    () => ownPage(begin),
    async (opened) => {
      ({ own, browser } = opened);
      await own.client.schedules.put("berlin", { when: "0 9 * * *", timezone: "Europe/Berlin", target });
      await own.client.schedules.put("often", { when: "every 5m", target });
    },
  );

  test.each([390, 1_440])(
    "Why? at %i px reads a time of the screen's zone, and says which it reads",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open("/schedules/berlin?zone=America/New_York");
      await page.getByText("it is read in America/New_York").waitFor();
      const field = page.getByLabel("The instant to explain");
      const explain = page.getByRole("button", { name: "Explain", exact: true });
      await field.fill("around nine");
      await explain.click();
      await page.getByRole("alert").getByText("Type 09:00 or 2026-03-02 09:00").waitFor();
      expect(await field.getAttribute("aria-invalid")).toBe("true");
      expect([...(await textFaults(page)), ...(await axeFaults(page))]).toEqual([]);
      await field.fill("2027-03-27 04:00");
      await explain.click();
      await page.waitForURL("**why=2027-03-27T08:00:00.000Z*".replaceAll(":", "%3A"));
      expect(await page.locator(".why .sentence").innerText()).toContain("Is planned");
      expect(await page.getByRole("alert").count()).toBe(0);
      await field.fill("around nine");
      await explain.click();
      await page.getByRole("alert").waitFor();
      // It would be read as the answer to what was typed.
      expect(await page.locator(".why .sentence").count()).toBe(0);
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  );

  test("A minute that is typed into Why? means the occurrence in it, as lists show it", async () => {
    const startsAt = "2027-03-26T14:00:35Z";
    await own.client.schedules.put("within", { when: "every 1h", startsAt, target });
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/within?zone=UTC");
    const field = page.getByLabel("The instant to explain");
    const explain = page.getByRole("button", { name: "Explain", exact: true });
    await field.fill("2027-03-26 15:00");
    await explain.click();
    await page.waitForURL("**why=2027-03-26T15:00:35.000Z*".replaceAll(":", "%3A"));
    await page.locator(".why .sentence", { hasText: /^Is planned|^Will run/ }).waitFor();
    await field.fill("2027-03-26 15:01");
    await explain.click();
    await page.locator(".why .sentence", { hasText: "Is not an occurrence" }).waitFor();
    expect(page.url()).toContain("15:01:00".replaceAll(":", "%3A"));
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("A month of frequent runs marks the days that are not drawn", async () => {
    const tab = await browser.tab({ width: 390 });
    const { page } = tab;
    await tab.open("/schedules/often?zone=UTC");
    await page.getByText(/The month has more: .* up to 2027-03-\d\d \d\d:\d\d\./).waitFor();
    // The day on which the hundred ends has more than it shows.
    const cut = page.locator(".month td", { hasText: "or more" });
    expect(await cut.allInnerTexts()).toEqual([expect.stringMatching(/×\d+ or more/)]);
    expect(await page.locator(".month td", { hasText: "×" }).last().innerText()).toContain("or more");
    expect(await page.locator("td.undrawn").allInnerTexts()).toContain("31\nnot drawn");
    expect(await page.locator("td.undrawn", { hasText: /^26/ }).count()).toBe(0);
    expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
    await tab.close();
  });

  test("A phone shows each view of its bar without scrolling it", async () => {
    const tab = await browser.tab({ width: 390 });
    await tab.open("/");
    const links = await tab.page.getByRole("navigation", { name: "Views" }).getByRole("link").all();
    const ends = await Promise.all(links.map((link) => link.boundingBox()));
    expect(ends.map((box) => (box?.x ?? 391) + (box?.width ?? 0)).filter((end) => end > 390)).toEqual([]);
    expect(links).toHaveLength(4);
    await tab.close();
  });

  test("The instants of a filter are shown in the zone of the screen, and other texts as they are", async () => {
    const tab = await browser.tab();
    await tab.open("/jobs?from=2027-03-26T11:00:00.000Z&zone=Asia/Tokyo");
    const chips = tab.page.getByRole("list", { name: "Further filters" });
    expect(await chips.innerText()).toMatch(/20:00:00/);
    await tab.open("/jobs?from=2027-13-26T11:00:00.000Z&zone=Asia/Tokyo");
    await chips.getByText("2027-13-26T11:00:00.000Z").waitFor();
    await tab.close();
  });
});
