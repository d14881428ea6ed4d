import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { Attempt, Job } from "../../../lib/client/job.ts";
import { linesOf } from "../../../lib/page/data/job/attempt-lines.ts";
import { explainedText } from "../../../lib/page/data/text/sentence-text.ts";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { filledPage } from "../filled.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

/** An attempt at minutes of an hour; the other fields do not matter to its line. */
const attemptAt = (attempt: number, plannedAt: string, claimedAt: string) =>
  ({
    attempt,
    plannedAt: `2026-03-02T13:${plannedAt}.000Z`,
    sentAt: `2026-03-02T13:${plannedAt}.400Z`,
    claimedAt: `2026-03-02T13:${claimedAt}.000Z`,
    targetStartedAt: null,
    targetEndedAt: null,
    settledAt: null,
    outcome: "failed",
    error: null,
  }) as Attempt;

const namesOf = (...attempts: Attempt[]) =>
  linesOf({ attempts, current: null, attempt: attempts.length } as unknown as Job).map(({ stages }) =>
    stages.slice(0, -3).map(({ name }) => name),
  );

test("A later attempt is put up after the one before it, and is not said to be planned before that", () => {
  expect(namesOf(attemptAt(1, "56:00", "58:32"), attemptAt(2, "59:01", "59:07"))).toEqual([
    ["planned", "sent", "claimed"],
    ["retry planned", "sent", "claimed"],
  ]);
});

test("An attempt that goes on in the message of an earlier one has no times before the claim of that one", () => {
  expect(namesOf(attemptAt(1, "56:00", "58:32"), attemptAt(2, "56:00", "59:07"))[1]).toEqual(["claimed"]);
});

test("A copied explanation has the key, and its times with date and zone", () => {
  const sentence = "Did not run: it was due at 2026-03-02T08:00:00.000Z, and `overlap` is skip.";
  expect(explainedText({ key: "reports", at: "2026-03-02T08:00:00.000Z", sentence }, "Europe/Berlin")).toBe(
    "reports, 2026-03-02 09:00:00 Europe/Berlin: Did not run: it was due at 2026-03-02 09:00:00, and overlap is skip.",
  );
});

describe.runIf(chromium !== undefined)("the explanation of a run (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  const retried = async () =>
    (await own.client.jobs.list({ key: "sync:ledger", state: "succeeded", limit: 1 }).page()).items[0];

  test("The explanation of a run by hand has all its times in the zone of the screen", async () => {
    const { id } = await own.client.schedules.fire("reports:daily");
    const { occurrence } = await own.client.jobs.get(id);
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open(`/schedules/reports:daily?zone=America/New_York&why=${occurrence}`);
    const why = page.getByRole("region", { name: "Why?" });
    await why.getByText(/^2026-03-28 21:45:\d\d.* America\/New_York$/).waitFor();
    expect(await page.getByLabel("The instant to explain").inputValue()).toMatch(/^2026-03-28 21:45:\d\d/);
    expect(await why.locator("header").innerText()).not.toMatch(/UTC|Berlin/);
    await tab.close();
  });

  test("The sentence of an explanation is copied with its key and its date, on the view of the job too", async () => {
    const job = await retried();
    const tab = await browser.tab();
    await tab.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    for (const view of [`/schedules/sync:ledger?why=${job?.occurrence}`, `/jobs/${job?.id}`]) {
      await tab.open(view);
      await tab.page.locator(".sentence").getByRole("button", { name: "Copy" }).click();
      await tab.page.getByRole("button", { name: "copied" }).waitFor();
      expect(await tab.page.evaluate<string>("navigator.clipboard.readText()")).toMatch(
        /^sync:ledger, 2026-03-29 03:\d\d:00 Europe\/Berlin: Ran, .*2026-03-29 03:/,
      );
    }
    await tab.close();
  });

  test.each([390, 1_440])(
    "The occurrence that an address asks about is in the list, at %i px",
    async (width) => {
      const key = "device:meter:0042:reading";
      const { items } = await own.client.schedules.occurrences(key, {
        from: new Date("2026-03-29T01:15:00Z"),
        to: new Date("2026-03-29T01:30:00Z"),
      });
      const missed = items.find(({ outcome }) => outcome !== "ran");
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open(`/schedules/${key}?why=${missed?.occurrence}`);
      const row = page.locator('.past li[aria-current="true"]');
      await row.locator(`time[datetime="${missed?.occurrence}"]`).waitFor();
      expect(await page.locator(".past").first().locator("li").count()).toBeGreaterThan(12);
      const colour = (selector: string) =>
        page.evaluate<string>(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).color`);
      expect(await colour(".past .instant:first-child")).toBe(await colour(".past .link"));
      const faults = [...(await textFaults(page)), ...(await axeFaults(page))];
      await page.emulateMedia({ colorScheme: "dark" });
      expect([...faults, ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await tab.close();
    },
  );

  test("The words of the stages of a job do not run into each other on a phone", async () => {
    const tab = await browser.tab({ width: 390 });
    await tab.open(`/jobs/${(await retried())?.id}`);
    expect(await tightStages(tab.page)).toEqual([]);
    expect([...(await textFaults(tab.page)), ...(await axeFaults(tab.page)), ...tab.faults]).toEqual([]);
    await tab.close();
  });
});

/** Stages whose words end less than the width of a blank before the next stage. */
const tightStages = (page: Page) =>
  page.evaluate<string[]>(`[...document.querySelectorAll(".stage")]
    .filter((stage) => {
      const range = document.createRange();
      range.selectNodeContents(stage);
      const end = Math.max(...[...range.getClientRects()].filter(({ width }) => width > 0 && width < stage.clientWidth).map(({ right }) => right));
      return end > stage.getBoundingClientRect().right - 4;
    })
    .map((stage) => stage.innerText)`);
