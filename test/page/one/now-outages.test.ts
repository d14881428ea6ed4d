import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import { minute } from "../../support/instants.ts";
import type { OwnBrowser } from "../browser.ts";
import { filledPage } from "../filled.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import { type OwnPage, ownPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

describe.runIf(chromium !== undefined)("the timeline of Now after an outage (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  test.each([390, 1_440])(
    "Now draws an outage of the last hour behind the bars, with words and a link, at %i px",
    async (width) => {
      const tab = await browser.tab({ width });
      await tab.open("/");
      const { page } = tab;
      const note = page.locator(".minute-note");
      await note.getByText(/An outage: no tick ran for 1\d min/).waitFor();
      const band = await page.locator(".outage-band").boundingBox();
      const frame = await page.locator(".timeline").boundingBox();
      const [outage] = (await own.client.outages({ limit: 1 }).page()).items;
      const lasted = Date.parse(outage?.to ?? "") - Date.parse(outage?.from ?? "");
      expect((band?.width ?? 0) / (frame?.width ?? 1)).toBeCloseTo(lasted / (120 * minute), 2);
      expect(await page.locator(".legend").first().innerText()).toContain("outage");
      const faults = [...(await textFaults(page)), ...(await axeFaults(page))];
      await page.emulateMedia({ colorScheme: "dark" });
      expect([...faults, ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await note.getByRole("link", { name: "An outage" }).click();
      await page.getByRole("heading", { name: "Outages" }).waitFor();
      await tab.close();
    },
  );

  test("A minute that lies in an outage says so, and another one does not", async () => {
    const tab = await browser.tab();
    await tab.open("/");
    const { page } = tab;
    const [outage] = (await own.client.outages({ limit: 1 }).page()).items;
    const from = Date.parse(outage?.from ?? "");
    const slider = page.getByRole("slider", { name: "A minute of the timeline" });
    const begin = Math.floor(own.world.clock.now().getTime() / minute) * minute - 60 * minute;
    await slider.fill(String(Math.floor((from - begin) / minute) + 5));
    await page.locator(".minute-note").getByText("; no tick ran (outage)").waitFor();
    expect(await slider.getAttribute("aria-valuetext")).toMatch(/; no tick ran$/);
    await slider.fill(String(Math.floor((from - begin) / minute) - 3));
    await page.locator(".minute-note").getByText("no tick ran").waitFor({ state: "detached" });
    expect(await slider.getAttribute("aria-valuetext")).not.toContain("tick");
    await tab.close();
  });

  test("The requests of Now for outages are those of the API's document", () => {
    expect(own.contradictions).toEqual([]);
  });
});

describe.runIf(chromium !== undefined)("the timeline of Now without or in an outage (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(
    () => ownPage("2026-03-29T00:30:00.000Z"),
    (opened) => {
      ({ own, browser } = opened);
    },
  );

  test("Without an outage in the last hour, Now draws none, and one that lasts goes on to now", async () => {
    const note = (what: string, from: string, to: string | null) => own.world.sql`
      insert into carillon.outages (what, from_at, to_at, noted_at)
      values (${what}, carillon.clock() - ${from}::text::interval,
        carillon.clock() - ${to}::text::interval, carillon.clock())`;
    await note("tick", "3 h", "2 h");
    const tab = await browser.tab();
    await tab.open("/");
    const { page } = tab;
    await page
      .locator(".minute-note")
      .getByText("In the last hour: nothing. In the next one: 0 planned.")
      .waitFor();
    expect(await page.locator(".outage-band").count()).toBe(0);
    await note("fast-workers", "10 min", null);
    await tab.open("/jobs");
    await tab.open("/");
    const text = /An outage: no worker claimed from the fast queue for 10 min .*so far\./;
    await page.locator(".minute-note").getByText(text).waitFor();
    const band = await page.locator(".outage-band").boundingBox();
    const line = await page.locator(".timeline .now").boundingBox();
    expect(Math.abs((band?.x ?? 0) + (band?.width ?? 0) - (line?.x ?? 0))).toBeLessThan(3);
    await tab.close();
  });
});
