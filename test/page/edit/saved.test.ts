import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import { type OwnBrowser, settled } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";
import { daily, editorPage } from "./daily.ts";

describe.runIf(chromium !== undefined)("the ways out of the editor (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(editorPage, (opened) => {
    ({ own, browser } = opened);
  });

  test.each([
    { width: 390, theme: "dark" },
    { width: 1_440, theme: "light" },
  ] as const)("A created schedule and a saved version are told once ($width px, $theme)", async (look) => {
    const key = `told:${look.theme}`;
    const tab = await browser.tab(look);
    const { page } = tab;
    await tab.open(`/new?key=${encodeURIComponent(key)}`);
    await page.getByLabel("When", { exact: true }).fill("0 7 * * *");
    await page.getByLabel("Queue", { exact: true }).fill("reports");
    await page.getByRole("button", { name: "Create" }).click();
    const created = page.getByRole("status").filter({ hasText: `${key} is created.` });
    await created.waitFor();
    await settled(page);
    expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
    await page.getByRole("link", { name: "Edit", exact: true }).click();
    await page.getByLabel("Description").fill("told");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    const saved = page.getByRole("status").filter({ hasText: "Version 2 is saved." });
    await saved.waitFor();
    expect(await created.count()).toBe(0);
    await page.reload();
    await settled(page);
    expect(await saved.count()).toBe(0);
    await tab.close();
  });

  test("The way to a new calendar keeps the edit, which comes back with the way back", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new?key=with-calendar");
    await page.getByLabel("When", { exact: true }).fill("0 7 * * *");
    await page.getByText("There is no calendar yet.").waitFor();
    await page.getByRole("link", { name: "New calendar" }).click();
    await page.getByLabel("Name of a new calendar").waitFor();
    await page.goBack();
    await page.getByText("Your unsaved edit was restored.").waitFor();
    expect(await page.getByLabel("When", { exact: true }).inputValue()).toBe("0 7 * * *");
    await tab.close();
  });

  test("The list of coming runs names the zone of its times, as the edit has it", async () => {
    await own.client.schedules.put("zoned", daily);
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/zoned/edit?zone=UTC");
    await page.getByRole("heading", { name: "Coming runs · times in Europe/Berlin" }).waitFor();
    await page.getByLabel("Time zone").fill("Asia/Tokyo");
    await page.getByRole("heading", { name: "Version 1 and the edit · times in Asia/Tokyo" }).waitFor();
    await tab.open("/new?zone=UTC");
    await page.getByLabel("When", { exact: true }).fill("0 7 * * *");
    await page.getByLabel("Time zone").fill("Asia/Tokyo");
    await page.getByRole("heading", { name: "Coming runs · times in Asia/Tokyo" }).waitFor();
    await tab.close();
  });
});
