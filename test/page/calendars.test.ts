import { describe, expect, test } from "vitest";
import { chromium } from "../support/chromium.ts";
import type { OwnBrowser } from "./browser.ts";
import { axeFaults, textFaults } from "./look-faults.ts";
import { type OwnPage, ownPage } from "./own-page.ts";
import { withBrowser } from "./with-browser.ts";

const begin = "2027-03-26T12:00:00.000Z";

const daily = {
  when: "0 9 * * *",
  timezone: "Europe/Berlin",
  target: { queue: "reports" },
  calendar: { name: "holidays", on: "skip" },
} as const;

describe.runIf(chromium !== undefined)("calendars in a browser (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(
    () => ownPage(begin),
    async (opened) => {
      ({ own, browser } = opened);
      await own.client.calendars.put("holidays", { dates: ["12-25"], weekly: ["sun"] });
      await own.client.schedules.put("reports:daily", daily);
      await own.client.schedules.put("reports:free", { ...daily, calendar: null });
    },
  );

  test("A day that is chosen shows whose runs move before the calendar is saved", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/calendars");
    await page.getByRole("link", { name: "holidays" }).click();
    const day = page.getByRole("button", { name: "2027-03-30: runs" });
    await day.click();
    await page.getByText("1 of 1 compared").waitFor();
    const moved = page.getByRole("region", { name: "reports:daily" });
    await moved.locator("li.gone").first().waitFor();
    expect((await own.client.calendars.get("holidays")).version).toBe(1);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved.").waitFor();
    expect(await own.client.calendars.get("holidays")).toMatchObject({
      version: 2,
      dates: ["12-25", "2027-03-30"],
      weekly: ["sun"],
    });
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("A day that a rule excludes becomes a working day by an exception", async () => {
    await own.client.calendars.put("weekly", { weekly: ["sun"] });
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/calendars/weekly?month=2027-04");
    await page.getByRole("button", { name: "2027-04-04: no runs" }).click();
    await page.getByRole("button", { name: "2027-04-04: runs" }).waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved.").waitFor();
    expect(await own.client.calendars.get("weekly")).toMatchObject({ except: ["2027-04-04"], dates: [] });
    await tab.close();
  });

  test("A line with a fault says so beneath its field, and the month keeps the days of the other rules", async () => {
    await own.client.calendars.put("typed", { weekly: ["sun"], dates: ["04-13"] });
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/calendars/typed?month=2027-04");
    await page.getByRole("button", { name: "2027-04-13: no runs" }).waitFor();
    await page.getByLabel("Days without runs").fill("04-13\n2026-02-30\nfoo");
    const field = page.locator(".field", { hasText: "Days without runs" });
    await field.getByText("Line 2: holds 2026-02-30").waitFor();
    await field.getByText("Line 3: takes").waitFor();
    await page.getByText("Not saved yet: the rules have a fault, shown at its field.").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    for (const day of ["2027-04-13", "2027-04-04"])
      expect(await page.getByRole("button", { name: `${day}: no runs` }).count()).toBe(1);
    await page.getByLabel("Days without runs").fill("04-13\n04-14");
    await page.getByRole("button", { name: "2027-04-14: no runs" }).waitFor();
    await page.getByText("Not saved yet.", { exact: true }).waitFor();
    expect(await field.locator(".field-fault").count()).toBe(0);
    await tab.close();
  });

  test("A version of a calendar that another caller saves meanwhile is not overwritten unseen", async () => {
    await own.client.calendars.put("shared", { dates: ["12-25"] });
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/calendars/shared");
    await page.getByLabel("Description").fill("mine");
    await page.getByText("0 of 0 compared").waitFor();
    await own.client.calendars.put("shared", { dates: ["12-26"] });
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("saved version 2 while you edited version 1").waitFor();
    expect((await own.client.calendars.get("shared")).dates).toEqual(["12-26"]);
    await tab.close();
  });

  test.each([
    { width: 390, theme: "dark" },
    { width: 1_440, theme: "light" },
  ] as const)("A calendar can be read at $width px in the $theme theme", async (look) => {
    const tab = await browser.tab(look);
    const faults: string[] = [];
    for (const path of ["/calendars", "/calendars/holidays", "/calendars/holidays?month=2027-12"]) {
      await tab.open(path);
      const found = [...(await textFaults(tab.page)), ...(await axeFaults(tab.page))];
      faults.push(...found.map((fault) => `${path}: ${fault}`));
    }
    expect([...faults, ...tab.faults]).toEqual([]);
    await tab.close();
  });
});
