import { describe, expect, test } from "vitest";
import type { Job } from "../../../lib/client/job.ts";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { deadKey, filledPage } from "../filled.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

describe.runIf(chromium !== undefined)("the view of one job (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  /**
   * A job that was made only after the twelve minutes without a tick. Jobs of one minute delay each other
   * too, by a few seconds.
   */
  async function delayedJob(): Promise<Job> {
    const key = "device:meter:0043:reading";
    const { items } = await own.client.jobs.list({ key, lateBy: "30s", limit: 1 }).page();
    return own.client.jobs.get(items[0]?.id ?? "");
  }

  test("A job has its target, its due time and its attempt of how many", async () => {
    const { items } = await own.client.jobs.list({ key: "sync:ledger", state: "succeeded", limit: 1 }).page();
    const tab = await browser.tab();
    await tab.open(`/jobs/${items[0]?.id}`);
    const value = (name: string) =>
      tab.page.locator(".definition > div").filter({ hasText: name }).locator("dd").innerText();
    expect(await value("Target")).toBe("function sync-ledger (async)");
    expect(await value("Attempt")).toBe("2 of 3");
    expect(await value("Due")).toContain(":");
    const [dead] = (await own.client.jobs.list({ key: deadKey, state: "dead", limit: 1 }).page()).items;
    await tab.open(`/jobs/${dead?.id}`);
    expect(await value("Target")).toBe("webhook POST https://hooks.example.com/orders");
    expect(await value("Attempt")).toBe("1 of 1");
    await own.client.schedules.put("never", { when: "in 1h", target: { queue: "reports" } });
    const { id } = await own.client.schedules.fire("never");
    await own.client.jobs.cancel(id);
    await tab.open(`/jobs/${id}`);
    expect(await value("Attempt")).toBe("none: it was cancelled");
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test.each([390, 1_440])(
    "An outage on the way of a job is drawn in, with a word and a link, at %i px",
    async (width) => {
      const job = await delayedJob();
      const tab = await browser.tab({ width });
      await tab.open(`/jobs/${job.id}`);
      const { page } = tab;
      const outage = page.locator(".stage.outage");
      await outage.first().waitFor();
      expect(await outage.innerText()).toMatch(/outage no tick ran, for 1\d min/);
      const faults = [...(await textFaults(page)), ...(await axeFaults(page))];
      await page.emulateMedia({ colorScheme: "dark" });
      expect([...faults, ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await outage.getByRole("link", { name: "outage" }).click();
      await page.getByRole("heading", { name: "Outages" }).waitFor();
      await tab.close();
    },
  );

  test("A job beside which there was no outage has none in its time", async () => {
    const [early] = (
      await own.client.jobs.list({ key: "sync:ledger", to: new Date("2026-03-29T00:50:00Z") }).page()
    ).items;
    const tab = await browser.tab();
    await tab.open(`/jobs/${early?.id}`);
    expect(await tab.page.locator(".stage.outage").count()).toBe(0);
    expect(await tab.page.locator(".stage").count()).toBeGreaterThan(5);
    await tab.close();
  });

  test("A deployment that links no logs shows no link to them", async () => {
    const tab = await browser.tab();
    await tab.open(`/jobs/${(await delayedJob()).id}`);
    expect(await tab.page.getByRole("link", { name: "Logs" }).count()).toBe(0);
    await tab.close();
  });

  test("The page's requests for outages are those of the API's document", () => {
    expect(own.contradictions).toEqual([]);
  });
});
