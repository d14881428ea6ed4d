import { describe, expect, test } from "vitest";
import type { AgendaItem } from "../../../lib/client/agenda.ts";
import { lostSearchOf } from "../../../lib/page/views/outages/lost-search.ts";
import { chromium } from "../../support/chromium.ts";
import { hour } from "../../support/instants.ts";
import type { OwnBrowser } from "../browser.ts";
import { filledPage } from "../filled.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

const isMissed = ({ reason }: AgendaItem) => reason === "missed";

describe.runIf(chromium !== undefined)("the list of outages (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  async function missedIn(from: string, to: string): Promise<string[]> {
    const { items } = await own.client.agenda({ from, to, outcome: "skipped", limit: 100 }).page();
    return items.filter(isMissed).map(({ key, occurrence }) => `${key} ${occurrence}`);
  }

  test("The link of an outage to what did not run finds every occurrence that was missed", async () => {
    const now = own.world.clock.now().getTime();
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/outages");
    await page.getByRole("link", { name: /What did not run/ }).click();
    await page.getByRole("table", { name: "Occurrences" }).getByText("missed").first().waitFor();
    const search = new URL(page.url()).searchParams;
    const all = await missedIn(new Date(now - 3 * hour).toISOString(), new Date(now).toISOString());
    expect(all.length).toBeGreaterThan(3);
    expect(await missedIn(search.get("from") ?? "", search.get("to") ?? "")).toEqual(all);
    expect(await page.getByLabel("Outcome").inputValue()).toBe("skipped");
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test.each([390, 1_440])("Both links of an outage can be read at %i px", async (width) => {
    const tab = await browser.tab({ width });
    await tab.open("/outages");
    await tab.page.getByRole("link", { name: /Late jobs/ }).waitFor();
    expect([...(await textFaults(tab.page)), ...(await axeFaults(tab.page))]).toEqual([]);
    await tab.close();
  });

  test("The requests from outages to occurrences are those of the API's document", () => {
    expect(own.contradictions).toEqual([]);
  });
});

describe("the window of what an outage prevented", () => {
  const now = Date.parse("2026-12-01T09:00:30Z");

  test("An outage that lasts has a window up to the end of this minute", () => {
    expect(lostSearchOf({ from: "2026-12-01T08:50:12.345Z", to: null }, now)).toEqual({
      from: "2026-12-01T08:50:00.000Z",
      to: "2026-12-01T09:01:00.000Z",
      outcome: "skipped",
    });
  });

  test("An outage of more than 32 days has the window of its last 32 days", () => {
    const { from, to } = lostSearchOf({ from: "2026-09-01T00:00:00Z", to: "2026-12-01T00:00:00Z" }, now);
    expect([from, to]).toEqual(["2026-10-30T00:00:00.000Z", "2026-12-01T00:00:00.000Z"]);
  });
});
