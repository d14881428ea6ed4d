import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import { chooseZone, type OwnBrowser, settled } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";
import { editorPage } from "./daily.ts";

describe.runIf(chromium !== undefined)("the editor of a new schedule (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(editorPage, (opened) => {
    ({ own, browser } = opened);
  });

  test.each([
    { address: "/new?key=zoned:berlin", key: "zoned:berlin", zone: "Europe/Berlin" },
    { address: "/new?key=zoned:tokyo&zone=Asia/Tokyo", key: "zoned:tokyo", zone: "Asia/Tokyo" },
  ])("A new schedule begins in the zone of the screen, $zone, and is stored with it", async (each) => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open(each.address);
    expect(await page.getByLabel("Time zone", { exact: true }).inputValue()).toBe(each.zone);
    expect(await page.getByLabel("The schedule, JSON.").innerText()).toContain(`"timezone": "${each.zone}"`);
    await page.getByLabel("When", { exact: true }).fill("0 9 * * *");
    await page.getByLabel("Queue", { exact: true }).fill("reports");
    await page.getByRole("button", { name: "Create" }).click();
    await page.waitForURL(/schedules\/zoned/);
    expect(await own.client.schedules.get(each.key)).toMatchObject({ timezone: each.zone });
    await tab.close();
  });

  test.each([390, 1_440])(
    "A new schedule says that it has taken the zone of the screen, and takes the reader's own with one press, at %i px",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open("/new?zone=Asia/Tokyo");
      await page.getByText("This is the zone that you are looking at. Your own is Europe/Berlin.").waitFor();
      expect([...(await textFaults(page)), ...(await axeFaults(page))]).toEqual([]);
      await page.getByRole("button", { name: "Use Europe/Berlin" }).click();
      const field = page.getByLabel("Time zone", { exact: true });
      expect(await field.inputValue()).toBe("Europe/Berlin");
      expect(await page.getByText("This is the zone that you are looking at.").count()).toBe(0);
      await tab.open("/new?key=in-the-own-zone");
      await field.waitFor();
      expect(await page.getByText("This is the zone that you are looking at.").count()).toBe(0);
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  );

  test("An edit of a new schedule is kept over a reload in which the zone of the screen is another one", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new?key=kept");
    await page.getByLabel("When", { exact: true }).fill("0 9 * * *");
    await chooseZone(page, "UTC");
    await page.waitForURL(/zone=UTC/);
    page.once("dialog", (dialog) => void dialog.accept());
    await page.reload();
    await settled(page);
    expect(await page.getByLabel("When", { exact: true }).inputValue()).toBe("0 9 * * *");
    expect(await page.getByLabel("Time zone", { exact: true }).inputValue()).toBe("Europe/Berlin");
    await tab.close();
  });

  test("The fields that a new schedule needs stand on one screen beside the server’s reading of it", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    const needed = ["Key", "When", "Time zone", "Kind", "Queue"];
    const places = [];
    for (const label of needed) places.push(await page.getByLabel(label, { exact: true }).boundingBox());
    const ends = places.map((box) => (box === null ? Number.NaN : box.y + box.height));
    expect(ends).toEqual(ends.toSorted((one, other) => one - other));
    expect(ends.at(-1)).toBeLessThan(900);
    const reading = await page.getByRole("region", { name: "When it will run" }).boundingBox();
    expect(reading?.y).toBeLessThan(300);
    expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
    await tab.close();
  });

  test("The reason why a schedule cannot be saved leads to its field when it is clicked", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    await page.getByRole("button", { name: "Write when it runs." }).click();
    await page.keyboard.type("0 9 * * *");
    await page.getByRole("button", { name: "Give it a queue." }).click();
    await page.keyboard.type("reports");
    await page.getByText("Not saved yet.").waitFor();
    expect(await page.getByLabel("Queue", { exact: true }).inputValue()).toBe("reports");
    await tab.close();
  });
});
