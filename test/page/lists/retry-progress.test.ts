import { describe, expect, test } from "vitest";
import { partOf, retriedText, retryInParts } from "../../../lib/page/data/bulk/retry-parts.ts";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser, Tab } from "../browser.ts";
import { filledPage } from "../filled.ts";
import { axeFaults } from "../look-faults.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

describe("the parts of a retry of many jobs", () => {
  test.each([
    { count: 44, more: false, part: 500 },
    { count: 9_812, more: false, part: 500 },
    { count: 10_000, more: true, part: 10_000 },
  ])(
    "A retry of $count jobs (more: $more) takes $part at a time, so that all its calls can be followed",
    ({ part, ...counted }) => {
      expect(partOf(counted)).toBe(part);
      if (!counted.more) expect(Math.ceil(counted.count / part)).toBeLessThanOrEqual(20);
    },
  );

  test("A stopped retry ends after the part under way, and says how many jobs it retried", async () => {
    const told: number[] = [];
    const total = await retryInParts({
      counted: { count: 9_812, more: false },
      call: async ({ limit }) => ({ done: limit, leftOut: 0, failed: 1, entry: "7", cursor: "further" }),
      onPart: (done) => told.push(done),
      isStopped: () => told.length === 3,
    });
    expect(told).toEqual([500, 1_000, 1_500]);
    expect(retriedText(total, { count: 9_812, more: false })).toBe(
      "Stopped: 1,500 of 9,812 retried. The other jobs are as they were. 3 could not be: their rows are locked or cannot be written.",
    );
  });
});

describe.runIf(chromium !== undefined)("the progress of a retry (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  const deadJobs = async () => (await own.client.jobs.retryDryRun({ state: "dead" })).count;

  /** Opens the dialog of a retry whose calls retry few jobs each, all after the first one once they are let go. */
  async function begun(tab: Tab): Promise<() => void> {
    const { page } = tab;
    const { promise: gate, resolve: release } = Promise.withResolvers<void>();
    let calls = 0;
    await page.route("**/v1/jobs:retry*", async (route) => {
      const body = route.request().postDataJSON();
      if (body.dryRun === true) return route.continue();
      calls += 1;
      if (calls > 1) await gate;
      return route.continue({ postData: JSON.stringify({ ...body, limit: 5 }) });
    });
    await tab.open("/jobs?state=dead");
    await page.getByRole("button", { name: "Retry all that match …" }).click();
    await page.getByRole("button", { name: /^Retry \d+ jobs$/ }).click();
    return release;
  }

  test.each([
    { width: 390, theme: "dark" },
    { width: 1_440, theme: "light" },
  ] as const)(
    "A retry shows how far it is, and is stopped between two of its calls, at $width px in the $theme theme",
    async (look) => {
      const dead = await deadJobs();
      const tab = await browser.tab(look);
      const { page } = tab;
      const release = await begun(tab);
      const dialog = page.getByRole("alertdialog");
      await dialog.getByText(`5 of ${dead} retried`, { exact: true }).waitFor();
      expect(await dialog.getByRole("progressbar").getAttribute("value")).toBe("5");
      expect(await axeFaults(page)).toEqual([]);
      const bar = await dialog.getByRole("progressbar").boundingBox();
      expect((bar?.x ?? 0) + (bar?.width ?? 0)).toBeLessThan(look.width);
      await dialog.getByRole("button", { name: "Stop", exact: true }).click();
      await dialog.getByRole("button", { name: "Stopping …" }).waitFor();
      release();
      await dialog.getByText(`Stopped: 10 of ${dead} retried. The other jobs are as they were.`).waitFor();
      await dialog.getByRole("link", { name: "What became of 10 jobs" }).waitFor();
      expect(await deadJobs()).toBe(dead - 10);
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  );

  test("A retry that is not stopped goes on to its end, and says how many jobs it retried", async () => {
    const dead = await deadJobs();
    const tab = await browser.tab();
    const release = await begun(tab);
    release();
    await tab.page.getByRole("alertdialog").getByText(`${dead} jobs are retried.`).waitFor();
    expect(await deadJobs()).toBe(0);
    await tab.close();
  });
});
