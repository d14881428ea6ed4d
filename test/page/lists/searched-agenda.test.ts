import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import { adminToken, type OwnPage, ownPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

const day = "/agenda?from=2026-03-03T00:00:00.000Z&to=2026-03-04T00:00:00.000Z";

describe.runIf(chromium !== undefined)("an agenda that is searched (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(
    async () => {
      const filled = await ownPage("2026-03-02T10:00:00.000Z");
      await filled.client.schedules.put("often", { when: "*/5 * * * *", target: { queue: "crm" } });
      return filled;
    },
    (opened) => {
      ({ own, browser } = opened);
    },
  );

  /** The API answers with the rows of these pages only, and waits before the last of them. */
  async function emptied(page: Page, rows: readonly number[]): Promise<() => void> {
    const { promise: gate, resolve: release } = Promise.withResolvers<void>();
    let asked = 0;
    await page.route("**/v1/occurrences?*", async (route) => {
      const kept = rows[asked];
      asked++;
      if (kept === undefined) return route.continue();
      if (asked === rows.length) await gate;
      const answer = await route.fetch();
      const json = await answer.json();
      await route.fulfill({ response: answer, json: { ...json, items: json.items.slice(0, kept) } });
    });
    return release;
  }

  test.each([390, 1_440])(
    "The agenda goes on by itself after empty pages, and says meanwhile that it searches, at %i px",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      const release = await emptied(page, [0, 0]);
      await page.goto(`${own.url}${day}&outcome=planned#token=${adminToken}`);
      await page.getByText("Still searching …").waitFor();
      await page.getByText(/^no run is planned so far, still searching · 288 occurrences/).waitFor();
      release();
      await page.locator("main tr[data-row]").first().waitFor();
      await page.getByText(/^88 runs of 1 schedule are planned, all there are · 288 occurrences/).waitFor();
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  );

  test("The headline of an outcome counts the runs and the schedules of the rows that have arrived, and says that more come", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open(`${day}&outcome=planned`);
    await page
      .getByText(/^at least 100 runs of at least 1 schedule are planned, more below · 288 occurrences/)
      .waitFor();
    await page.mouse.wheel(0, 100_000);
    await page.getByText(/^at least 200 runs of at least 1 schedule are planned/).waitFor();
    await page.mouse.wheel(0, 100_000);
    await page.getByText(/^288 runs of 1 schedule are planned, all there are/).waitFor();
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test.each([390, 1_440])(
    "A time before all schedules says that its count is of expressions alone, at %i px",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open("/agenda?from=2026-02-06T00:00:00.000Z&to=2026-02-07T00:00:00.000Z");
      await page
        .getByText("nothing is listed · 288 occurrences of 1 expression, before holds and calendars")
        .waitFor();
      await page
        .getByText(/^Nothing occurs in this time\. The count is that of the expressions alone/)
        .waitFor();
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await tab.close();
    },
  );
});
