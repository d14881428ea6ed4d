import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import { minute } from "../../support/instants.ts";
import { until } from "../../support/until.ts";
import type { OwnBrowser, Tab } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import { type OwnPage, ownPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

const begin = "2026-03-02T10:00:00.000Z";
const window = "from=2026-11-27T10:00:00.000Z&to=2026-11-27T11:00:00.000Z";

/** The address has the window. */
async function hasWindow(page: Page, from: string, to: string): Promise<void> {
  await page.waitForURL(
    ({ searchParams }) => searchParams.get("from") === from && searchParams.get("to") === to,
  );
}

/** Types digits in the order of the test's browser: month, day, year, hour, minute, and A of AM. */
async function type(page: Page, label: string, digits: string, delay: number): Promise<void> {
  const field = page.getByLabel(label);
  await field.focus();
  await page.keyboard.type(digits, { delay });
}

describe.runIf(chromium !== undefined)("typed windows in a browser (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(
    () => ownPage(begin),
    (opened) => {
      ({ own, browser } = opened);
    },
  );

  async function agenda(zone: string): Promise<Tab> {
    const tab = await browser.tab();
    await tab.open(`/agenda?${window}&zone=${zone}`);
    return tab;
  }

  const berlin = { zone: "Europe/Berlin", from: "2026-11-30T08:00:00.000Z", to: "2026-11-30T10:30:00.000Z" };
  const newYork = {
    zone: "America/New_York",
    from: "2026-11-30T14:00:00.000Z",
    to: "2026-11-30T16:30:00.000Z",
  };

  test.each([
    { ...berlin, delay: 0 },
    { ...newYork, delay: 60 },
    { ...berlin, delay: 900 },
  ])(
    "Both ends of an agenda in $zone keep what is typed, with a key each $delay ms, until Enter or another field",
    async ({ zone, from, to, delay }) => {
      const tab = await agenda(zone);
      const { page } = tab;
      const hour = new Date(Date.parse(from) + 60 * minute).toISOString();
      const asked: string[] = [];
      page.on("request", (request) => {
        if (request.url().includes("/v1/occurrences")) asked.push(request.url());
      });
      await type(page, "From", "113020260900A", delay);
      expect(await page.getByLabel("From").inputValue()).toBe("2026-11-30T09:00");
      expect(asked).toEqual([]);
      await page.keyboard.press("Enter");
      await hasWindow(page, from, hour);
      await type(page, "To", "113020261130A", delay);
      expect(await page.getByLabel("To").inputValue()).toBe("2026-11-30T11:30");
      await page.getByLabel("Key begins with").focus();
      await hasWindow(page, from, to);
      expect(await page.locator(".wall-field").allInnerTexts()).toEqual([
        `From (${zone}) Monday`,
        "To Monday",
      ]);
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  );

  test.each([390, 1_440])(
    "An end that is not after its begin stays in its field with a sentence, at %i px, and counts once the begin is before it",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open(`/agenda?${window}&zone=UTC`);
      await type(page, "To", "112620260930A", 0);
      await page.keyboard.press("Enter");
      await page.getByRole("alert").getByText("The end must be after the begin.").waitFor();
      expect(await page.getByLabel("To").inputValue()).toBe("2026-11-26T09:30");
      expect(page.url()).toContain("2026-11-27T11");
      expect([...(await textFaults(page)), ...(await axeFaults(page))]).toEqual([]);
      await type(page, "From", "112620260800A", 0);
      await page.keyboard.press("Enter");
      await hasWindow(page, "2026-11-26T08:00:00.000Z", "2026-11-26T09:30:00.000Z");
      expect(await page.getByRole("alert").count()).toBe(0);
      await type(page, "From", "11", 0);
      await page.keyboard.press("Backspace");
      await page.keyboard.press("Enter");
      await page.getByRole("alert").getByText("Type a whole date and time.").waitFor();
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  );

  test("An end that moves with the begin says so, until it is set itself", async () => {
    const tab = await agenda("UTC");
    const { page } = tab;
    await type(page, "From", "112820260900A", 0);
    await page.keyboard.press("Enter");
    await hasWindow(page, "2026-11-28T09:00:00.000Z", "2026-11-28T10:00:00.000Z");
    await page.getByText("Moved with the begin.").waitFor();
    expect([...(await textFaults(page)), ...(await axeFaults(page))]).toEqual([]);
    await type(page, "To", "112820261130A", 0);
    await page.keyboard.press("Enter");
    await hasWindow(page, "2026-11-28T09:00:00.000Z", "2026-11-28T11:30:00.000Z");
    expect(await page.getByText("Moved with the begin.").count()).toBe(0);
    await tab.close();
  });

  test("A typed time counts by itself after a pause, and until then the list says that it is the old one", async () => {
    const tab = await agenda("UTC");
    const { page } = tab;
    await page.getByText(/^0 occurrences/).waitFor();
    await type(page, "From", "113020260900A", 0);
    await page.getByText("Press Enter to apply.").waitFor();
    await page.getByText("of the window before: 0 occurrences").waitFor();
    expect(await page.locator(".outdated .agenda").count()).toBe(1);
    // The words are seen, and the sentence is not struck out as if it were deleted.
    expect((await page.locator("p.outdated > span").boundingBox())?.width).toBeGreaterThan(50);
    expect(
      await page.evaluate('getComputedStyle(document.querySelector("p.outdated")).textDecorationLine'),
    ).toBe("none");
    expect(await axeFaults(page)).toEqual([]);
    await hasWindow(page, "2026-11-30T09:00:00.000Z", "2026-11-30T10:00:00.000Z");
    await page.getByText(/^0 occurrences/).waitFor();
    expect(await page.locator(".outdated").count()).toBe(0);
    expect(await page.getByText("Press Enter to apply.").count()).toBe(0);
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("A year that is half typed does not count by itself, however long the pause is", async () => {
    const tab = await agenda("UTC");
    const { page } = tab;
    await type(page, "From", "1130202", 0);
    await page.getByText("Press Enter to apply.").waitFor();
    await page.clock.fastForward(60_000);
    await page.getByText("of the window before").waitFor();
    expect(page.url()).toContain("from=2026-11-27T10");
    await page.keyboard.type("6");
    await hasWindow(page, "2026-11-30T10:00:00.000Z", "2026-11-30T11:00:00.000Z");
    await tab.close();
  });

  test("To shows at once where it has moved with From, also while it has the focus", async () => {
    const tab = await agenda("UTC");
    const { page } = tab;
    await type(page, "From", "113020260855A", 0);
    await page.getByLabel("To").click({ position: { x: 15, y: 12 } });
    await hasWindow(page, "2026-11-30T08:55:00.000Z", "2026-11-30T09:55:00.000Z");
    await until("To shows it", async () => (await page.getByLabel("To").inputValue()) === "2026-11-30T09:55");
    await tab.close();
  });

  test("A press on the hour of To right after From is typed leaves the hour chosen", async () => {
    const tab = await agenda("UTC");
    const { page } = tab;
    await type(page, "From", "113020260855A", 0);
    // Behind the eleven signs of the date.
    await page.getByLabel("To").click({ position: { x: 112, y: 12 } });
    await hasWindow(page, "2026-11-30T08:55:00.000Z", "2026-11-30T09:55:00.000Z");
    await page.keyboard.type("11");
    await hasWindow(page, "2026-11-30T08:55:00.000Z", "2026-11-30T11:55:00.000Z");
    await tab.close();
  });

  test.each([390, 1_440])("No field moves when the end is refused, at %i px", async (width) => {
    const tab = await browser.tab({ width });
    const { page } = tab;
    await tab.open(`/agenda?${window}&zone=UTC`);
    const places = async () => {
      const boxes = [];
      for (const field of await page.locator(".filters :is(input, select)").all())
        boxes.push(await field.boundingBox());
      return boxes;
    };
    const before = await places();
    await type(page, "To", "112620260930A", 0);
    await page.getByText("Press Enter to apply.").waitFor();
    expect(await places()).toEqual(before);
    await page.getByText("The end must be after the begin.").waitFor();
    expect(await places()).toEqual(before);
    await page.getByText("of the window before").waitFor();
    await tab.close();
  });

  test("A time that is chosen without a key counts after a moment", async () => {
    const tab = await agenda("UTC");
    await tab.page.getByLabel("From").fill("2026-11-30T09:00");
    await hasWindow(tab.page, "2026-11-30T09:00:00.000Z", "2026-11-30T10:00:00.000Z");
    await tab.close();
  });

  test("The times of the audit keep what is typed until Enter, and an empty one is none", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/audit?zone=America/New_York");
    await type(page, "From", "113020260900A", 60);
    expect(await page.getByLabel("From").inputValue()).toBe("2026-11-30T09:00");
    expect(page.url()).not.toContain("from=");
    await page.keyboard.press("Enter");
    await page.waitForURL(/from=2026-11-30T14%3A00/);
    await page.getByLabel("From").fill("");
    await page.getByLabel("Key begins with").focus();
    await page.waitForURL((url) => !url.searchParams.has("from"));
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test.each([390, 1_440])(
    "A quick window of the screen's zone needs no typing, and keeps the filter, at %i px",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open(`/agenda?${window}&prefix=crm&zone=Europe/Berlin`);
      await page.getByRole("link", { name: "Next Monday 09:00" }).click();
      await hasWindow(page, "2026-03-09T08:00:00.000Z", "2026-03-09T09:00:00.000Z");
      expect(page.url()).toContain("prefix=crm");
      expect(await page.getByLabel("From").inputValue()).toBe("2026-03-09T09:00");
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await tab.close();
    },
  );

  test("The end of a hold that is typed just before the hold is set belongs to it", async () => {
    await own.client.schedules.put("nightly", { when: "0 2 * * *", target: { queue: "crm" } });
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/nightly?zone=America/New_York");
    await page.getByRole("button", { name: "Hold …" }).click();
    await type(page, "Ends (America/New_York)", "113020260900A", 60);
    await page.getByRole("button", { name: "Hold it" }).click();
    await page.getByText(/^It is held until .*09:00/).waitFor();
    expect((await own.client.schedules.get("nightly")).holds).toMatchObject([
      { until: "2026-11-30T14:00:00.000Z" },
    ]);
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("A hold whose end is half typed is refused with a sentence, and set once the end is whole", async () => {
    await own.client.schedules.put("weekly", { when: "0 2 * * 1", target: { queue: "crm" } });
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/weekly?zone=UTC");
    await page.getByRole("button", { name: "Hold …" }).click();
    await type(page, "Ends (UTC)", "1130", 0);
    const hold = page.getByRole("button", { name: "Hold it" });
    await hold.click();
    await page.getByText("The end is no whole date and time. Complete it, or clear the field.").waitFor();
    expect((await own.client.schedules.get("weekly")).holds).toEqual([]);
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "2 h", exact: true }).click();
    await page.getByText("The end is no whole date and time.").waitFor({ state: "detached" });
    await hold.click();
    await page.getByText(/^It is held until/).waitFor();
    expect((await own.client.schedules.get("weekly")).holds).toHaveLength(1);
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("A press on To right after From is typed has the focus, and keeps what is typed then", async () => {
    const tab = await agenda("Europe/Berlin");
    const { page } = tab;
    await type(page, "From", "113020260855A", 60);
    await page.getByLabel("To").click({ position: { x: 15, y: 12 } });
    await page.keyboard.type("113020260905A", { delay: 60 });
    await page.keyboard.press("Enter");
    await hasWindow(page, "2026-11-30T07:55:00.000Z", "2026-11-30T08:05:00.000Z");
    expect(await page.getByLabel("To").inputValue()).toBe("2026-11-30T09:05");
    await tab.close();
  });

  test("The begin of the runs beside an edit keeps what is typed, on the clocks of the schedule's zone", async () => {
    await own.world.put("typed", { when: "30 2 * * *", timezone: "Europe/Berlin" });
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/typed/edit?zone=America/New_York");
    await type(page, "Show runs from", "032720271200P", 60);
    await page.keyboard.press("Enter");
    await page.getByText("Sun 2027-03-28 03:00").first().waitFor();
    expect(await page.getByLabel("Show runs from").inputValue()).toBe("2027-03-27T12:00");
    await tab.close();
  });
});
