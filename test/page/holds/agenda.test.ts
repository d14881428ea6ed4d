import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import { type OwnPage, ownPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

const day = "/agenda?from=2026-03-03T00:00:00.000Z&to=2026-03-04T00:00:00.000Z";

describe.runIf(chromium !== undefined)("the agenda by outcome (needs Chromium)", () => {
  let browser: OwnBrowser;

  withBrowser(filled, (opened) => {
    ({ browser } = opened);
  });

  async function filled(): Promise<OwnPage> {
    const page = await ownPage("2026-03-02T10:00:00.000Z");
    const { client } = page;
    await client.calendars.put("days", { dates: ["2026-03-09"] });
    for (const on of ["skip", "next", "previous"] as const)
      await client.schedules.put(`off:${on}`, {
        when: "30 8 * * *",
        target: { queue: "reports" },
        calendar: { name: "days", on },
      });
    for (const n of [1, 2, 3])
      await client.schedules.put(`often:${n}`, { when: "*/15 * * * *", target: { queue: "crm" } });
    await client.schedules.put("kept:a", { when: "0 9 * * *", target: { queue: "crm" } });
    await client.schedules.pause("kept:a", { reason: "the new index" });
    return page;
  }

  test.each([390, 1_440].flatMap((width) => (["light", "dark"] as const).map((theme) => ({ width, theme }))))(
    "The held runs of a window are chosen by their outcome, which the address keeps, at $width px in the $theme theme",
    async (look) => {
      const tab = await browser.tab(look);
      const { page } = tab;
      await tab.open(day);
      await page.getByText("292 occurrences of 5 expressions, before holds", { exact: true }).waitFor();
      await page.getByLabel("Outcome").selectOption("held");
      const rows = page.locator("main tr[data-row]");
      await rows.filter({ hasText: "often:" }).first().waitFor({ state: "detached" });
      await rows.filter({ hasText: "kept:a" }).getByText("held by ops: the new index").waitFor();
      expect(await rows.count()).toBe(1);
      expect(page.url()).toContain("outcome=held");
      const whole = "292 occurrences of 5 expressions, before holds";
      await page.getByText(`1 run of 1 schedule is held · ${whole}`).waitFor();
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await page.getByLabel("Outcome").selectOption("dead");
      await page.getByText("No run in this time has this outcome.").waitFor();
      await page.getByText(`no run is dead · ${whole}`).waitFor();
      await tab.close();
    },
  );

  test.each([390, 1_440])(
    "The held runs of a window are counted without a choice, and lead to their schedules with owner, reason and end, at %i px",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open(day);
      await page.getByRole("link", { name: "1 run of 1 schedule is held", exact: true }).click();
      const held = page.getByRole("list", { name: "Held schedules" }).getByRole("listitem");
      await held.getByText("held by ops: the new index").waitFor();
      expect(await held.count()).toBe(1);
      expect(await held.innerText()).toMatch(/^1\s+kept:a held by ops: the new index\s+until released$/);
      expect(page.url()).toContain("outcome=held");
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await held.getByRole("link", { name: "kept:a" }).click();
      await page.getByRole("heading", { name: "kept:a" }).waitFor();
      await tab.close();
    },
  );

  test("The export and the commands of the agenda have its outcome", async () => {
    const tab = await browser.tab();
    await tab.open(`${day}&outcome=held`);
    await tab.page.getByRole("button", { name: "Export …" }).click();
    const texts = await tab.page
      .getByRole("button", { name: /^Copy as/ })
      .evaluateAll((buttons) => buttons.map(({ title }) => title));
    expect(texts).toEqual([
      expect.stringMatching(/^carillon agenda .* --outcome held /),
      expect.stringContaining("outcome=held"),
    ]);
    await tab.close();
  });

  test.each([390, 1_440])(
    "A row of an expression leads to the runs of all its schedules, at %i px",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open(`${day}&rows=expressions`);
      const row = page.locator("tr[data-row]").filter({ hasText: "often:" });
      await row.getByRole("link", { name: "2 others" }).click();
      await page.getByText("288 occurrences of 1 expression, before holds", { exact: true }).waitFor();
      const keys = await page.locator("main tr[data-row]").locator(".key").allInnerTexts();
      expect([...new Set(keys)].toSorted()).toEqual(["often:1", "often:2", "often:3"]);
      expect(page.url()).toMatch(/from=2026-03-03T00.*rule=cadence-\d+/);
      const chip = page.getByRole("list", { name: "Further filters" });
      await chip.getByText("*/15 * * * * UTC").waitFor();
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await chip.getByRole("button", { name: "Drop the filter Expression" }).click();
      await page.getByText("292 occurrences of 5 expressions, before holds", { exact: true }).waitFor();
      expect(page.url()).not.toContain("rule=");
      await tab.close();
    },
  );

  test("The rows of expressions differ by how they use a calendar, and say that the chosen outcome is not in force", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open(`${day}&rows=expressions&outcome=held`);
    const zoneOf = (key: string) => page.locator("tr[data-row]").filter({ hasText: key }).locator(".zone");
    await zoneOf("off:skip").waitFor();
    expect(await zoneOf("off:skip").innerText()).toBe("UTC, calendar days: no run on its days");
    expect(await zoneOf("off:next").innerText()).toBe(
      "UTC, calendar days: runs of its days move to the next day",
    );
    expect(await zoneOf("off:previous").innerText()).toBe(
      "UTC, calendar days: runs of its days move to the day before",
    );
    const outcome = page.getByLabel("Outcome");
    expect(await outcome.isDisabled()).toBe(true);
    expect(await outcome.inputValue()).toBe("held");
    await page
      .getByText(/^For all outcomes: “held” is not in force here\. Counted by .* before holds/)
      .waitFor();
    await page.getByText("292 occurrences of 5 expressions, before holds", { exact: true }).waitFor();
    expect(await textFaults(page)).toEqual([]);
    await page.getByRole("link", { name: "Each run" }).click();
    await page.getByText(/^1 run of 1 schedule is held/).waitFor();
    await tab.close();
  });

  test.each([390, 1_440].flatMap((width) => (["light", "dark"] as const).map((theme) => ({ width, theme }))))(
    "Runs that a calendar leaves out are not counted as runs, but by themselves, with the way to their rows, at $width px in the $theme theme",
    async (look) => {
      const tab = await browser.tab(look);
      const { page } = tab;
      await tab.open("/agenda?from=2026-03-09T00:00:00.000Z&to=2026-03-10T00:00:00.000Z&rows=expressions");
      const whole = "289 occurrences of 3 expressions, before holds";
      await page.getByText(`${whole} · 1 is left out by calendars`, { exact: true }).waitFor();
      const row = page.locator("tr[data-row]").filter({ hasText: "off:skip" });
      expect(await row.locator(".count").innerText()).toBe("0 runs, 1 left out");
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await page.getByRole("link", { name: "1 is left out by calendars" }).click();
      await page
        .getByText(`1 run of 1 schedule is left out by its calendar · ${whole}`, { exact: true })
        .waitFor();
      expect(await page.locator("main tr[data-row] .key").allInnerTexts()).toEqual(["off:skip"]);
      await page.goBack();
      await row.getByRole("link", { name: "1 left out" }).click();
      await page.locator("main tr[data-row] .key").getByText("off:skip").waitFor();
      expect(page.url()).toMatch(/rule=cadence-\d+.*outcome=skipped|outcome=skipped.*rule=cadence-\d+/);
      await tab.close();
    },
  );

  test("No count stands beside the rows while those of another window are loaded", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open(day);
    await page.getByText("292 occurrences of 5 expressions, before holds", { exact: true }).waitFor();
    const loaded = Promise.withResolvers<void>();
    await page.route("**/v1/occurrences?*", async (route) => {
      await loaded.promise;
      await route.continue();
    });
    const counted = page.waitForResponse((answer) => answer.url().includes("occurrences:count"));
    await page.getByLabel("Key begins with").fill("kept:");
    await counted;
    await page.getByText("Loading …").waitFor();
    expect(await page.locator(".title > .counts > p").first().innerText()).toBe("…");
    loaded.resolve();
    await page.getByText("1 occurrence of 1 expression, before holds", { exact: true }).waitFor();
    await tab.close();
  });
});
