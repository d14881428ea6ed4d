import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import { minute } from "../../support/instants.ts";
import type { OwnBrowser } from "../browser.ts";
import { textFaults } from "../look-faults.ts";
import { type OwnPage, ownPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

describe.runIf(chromium !== undefined)("late jobs in the list (need Chromium)", () => {
  let browser: OwnBrowser;

  withBrowser(late, (opened) => {
    ({ browser } = opened);
  });

  /** Jobs that are due and that no worker has claimed; the schedule of one is held. */
  async function late(): Promise<OwnPage> {
    const page = await ownPage("2026-03-02T10:00:00.000Z");
    const { client, world } = page;
    for (const key of ["late:held", "late:plain"])
      await client.schedules.put(key, { when: "in 1m", target: { queue: "crm" } });
    await world.tick();
    await world.clock.advance(2 * minute);
    await client.schedules.pause("late:held");
    return page;
  }

  test.each([390, 1_440])("A row says what its job waits for, at %i px", async (width) => {
    const tab = await browser.tab({ width });
    await tab.open("/jobs?prefix=late:");
    const causeOf = (key: string) =>
      tab.page.locator("main [data-row]").filter({ hasText: key }).locator(".cause");
    await causeOf("late:plain").getByText("waits for a worker").waitFor();
    await causeOf("late:held").getByText("waits for the end of a hold").waitFor();
    expect(await textFaults(tab.page)).toEqual([]);
    await tab.close();
  });
});
