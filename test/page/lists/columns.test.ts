import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { deadKey, filledPage, gapKey } from "../filled.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

const looks = [
  { width: 390, theme: "dark" },
  { width: 1_024, theme: "light" },
  { width: 1_440, theme: "dark" },
] as const;

describe.runIf(chromium !== undefined)("the list of schedules in a browser (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  test("The list of schedules shows the zone of each, and how late its newest run began", async () => {
    const runs = (await own.client.lastRuns({ keys: [deadKey], n: 1 })).items[0]?.runs ?? [];
    expect(runs[0]?.latenessMs).toBeLessThan(1_000);
    const tab = await browser.tab({ width: 1_024 });
    await tab.open("/schedules?prefix=hooks:");
    const rowOf = (key: string) => tab.page.locator("tr[data-row]").filter({ hasText: key });
    await rowOf(deadKey).getByText("on time").waitFor();
    await tab.open(`/schedules?prefix=${gapKey}`);
    expect(await rowOf(gapKey).locator(".zone").innerText()).toBe("Europe/Berlin");
    expect(await rowOf(gapKey).locator(".when").innerText()).not.toContain("Europe/Berlin");
    await tab.close();
  });

  test.each(looks)("The list of schedules can be read at $width px in the $theme theme", async (look) => {
    const tab = await browser.tab(look);
    await tab.open("/schedules");
    await tab.page.locator("tr[data-row]").first().waitFor();
    expect([...(await textFaults(tab.page)), ...(await axeFaults(tab.page)), ...tab.faults]).toEqual([]);
    await tab.close();
  });
});
