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

/** Nine o'clock in Berlin on a Monday, among runs of each minute. */
const monday = "/agenda?from=2026-03-30T06:00:00.000Z&to=2026-03-30T08:00:00.000Z&rows=expressions";

describe.runIf(chromium !== undefined)("the lists of schedules and runs in a browser (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  test("The list of schedules shows the zone of each, and how late its newest run began", async () => {
    const runs = (await own.client.lastRuns({ keys: [deadKey], n: 1 })).items[0]?.runs ?? [];
    // Jobs of the same minute delay each other, in an order that differs from run to run.
    const late = runs[0]?.latenessMs ?? Number.NaN;
    expect(late).toBeLessThan(30_000);
    const tab = await browser.tab({ width: 1_024 });
    await tab.open("/schedules?prefix=hooks:");
    const rowOf = (key: string) => tab.page.locator("tr[data-row]").filter({ hasText: key });
    await rowOf(deadKey)
      .getByText(late <= 1_000 ? "on time" : /^\d.* late$/)
      .waitFor();
    await tab.open(`/schedules?prefix=${gapKey}`);
    expect(await rowOf(gapKey).locator(".zone").innerText()).toBe("Europe/Berlin");
    expect(await rowOf(gapKey).locator(".when").innerText()).not.toContain("Europe/Berlin");
    await tab.close();
  });

  test("The list says until when a schedule is held, by its last hold, or that it runs when it is released", async () => {
    await own.client.schedules.put("held:a", { when: "0 9 * * *", target: { queue: "reports" } });
    await own.client.schedules.put("held:b", { when: "0 9 * * *", target: { queue: "reports" } });
    await own.client.schedules.pause("held:a", { owner: "ops", until: "2027-06-01T10:00:00Z" });
    await own.client.schedules.pause("held:b", { owner: "ops" });
    const tab = await browser.tab();
    await tab.open("/schedules?prefix=held:");
    const nextOf = (key: string) =>
      tab.page.locator("tr[data-row]").filter({ hasText: key }).locator(".next").innerText();
    await tab.page.locator("tr[data-row]").first().waitFor();
    expect(await nextOf("held:a")).toContain("held until ");
    expect(await nextOf("held:b")).toContain("when released");
    await tab.close();
  });

  test("A held run of the agenda names the owner and the reason of its hold, and leads to the board", async () => {
    await own.client.schedules.put("kept:a", { when: "0 9 * * *", target: { queue: "reports" } });
    await own.client.schedules.pause("kept:a", { owner: "ops", reason: "new index" });
    const tab = await browser.tab({ width: 390 });
    await tab.open("/agenda?from=2027-06-01T08:00:00.000Z&to=2027-06-01T10:00:00.000Z&prefix=kept:");
    const row = tab.page.locator("tr[data-row]").filter({ hasText: "kept:a" });
    await row.waitFor();
    expect(await row.locator(".more").innerText()).toBe("held by ops: new index");
    expect([...(await textFaults(tab.page)), ...(await axeFaults(tab.page)), ...tab.faults]).toEqual([]);
    await row.getByRole("link", { name: "held by ops" }).click();
    await tab.page.getByRole("table", { name: "Holds" }).getByRole("link", { name: "kept:a" }).waitFor();
    await tab.close();
  });

  test("The runs of one expression are one row of the agenda, with the server's count", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open(monday.replace("&rows=expressions", ""));
    await page.getByText(/occurrences of \d+ expressions/).waitFor();
    await page.getByRole("link", { name: "By expression" }).click();
    const rowOf = (key: string) => page.locator("tr[data-row]").filter({ hasText: key });
    await rowOf("device:meter:0042:reading").getByText("120 runs").waitFor();
    // Its day is one of the calendar's.
    await rowOf("reports:daily").getByText("0 runs").waitFor();
    await rowOf("reports:daily").getByRole("link", { name: "1 left out" }).waitFor();
    expect(await rowOf("reports:daily").locator(".zone").innerText()).toBe(
      "Europe/Berlin, calendar holidays: no run on its days",
    );
    expect(page.url()).toContain("rows=expressions");
    await page.getByRole("link", { name: "Each run" }).click();
    await page.getByRole("table", { name: "Occurrences" }).waitFor();
    await tab.close();
  });

  test.each(looks.flatMap((look) => ["/schedules", monday].map((view) => ({ view, ...look }))))(
    "$view can be read at $width px in the $theme theme",
    async ({ view, ...look }) => {
      const tab = await browser.tab(look);
      await tab.open(view);
      await tab.page.locator("tr[data-row]").first().waitFor();
      expect([...(await textFaults(tab.page)), ...(await axeFaults(tab.page)), ...tab.faults]).toEqual([]);
      await tab.close();
    },
  );
});
