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
      await page.getByText(/^288 runs of 1 schedule are planned · 288 occurrences/).waitFor();
      release();
      await page.locator("main tr[data-row]").first().waitFor();
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  );

  test("The headline of an outcome counts all runs of the window and their schedules before the list is read to its end", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await tab.open(`${day}&outcome=planned`);
    await page.getByText(/^288 runs of 1 schedule are planned · 288 occurrences/).waitFor();
    expect(asked.filter((path) => path.endsWith("/v1/occurrences"))).toHaveLength(1);
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test.each([390, 1_440])(
    "A time before all schedules says that its count is of expressions alone, at %i px",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open("/agenda?from=2026-02-06T00:00:00.000Z&to=2026-02-07T00:00:00.000Z");
      await page.getByText("nothing is listed · 288 occurrences of 1 expression, before holds").waitFor();
      await page
        .getByText(/^Nothing occurs in this time\. The count is that of the expressions alone/)
        .waitFor();
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await tab.close();
    },
  );
});
