import { describe, expect, test } from "vitest";
import { whyText } from "../../../lib/page/data/reason-words.ts";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { filledPage } from "../filled.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import { withBrowser } from "../with-browser.ts";

/** The outage of the filled page is in it. */
const window = "/agenda?from=2026-03-29T01:00:00.000Z&to=2026-03-29T02:00:00.000Z";

test("A reason that the page does not know is shown as the API has it", () => {
  expect(whyText("skipped", "a-new-one")).toBe("a-new-one");
  expect(whyText("skipped", "paused")).toBe("was held when it was due, and is not made up");
  expect(whyText("ran", "superseded")).toBe(null);
});

describe.runIf(chromium !== undefined)("the rows of the agenda (need Chromium)", () => {
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ browser } = opened);
  });

  test.each([390, 1_440])("A missed row says why it did not run, at %i px", async (width) => {
    const tab = await browser.tab({ width });
    const { page } = tab;
    await tab.open(`${window}&outcome=skipped`);
    const row = page.locator("tr[data-row]").filter({ hasText: "missed" }).first();
    await row.getByText("no tick planned it in time, and it is not made up").waitFor();
    expect(await page.getByLabel("Outcome").locator("option:checked").innerText()).toBe("skipped or missed");
    await page.getByText(/runs? of \d+ schedules? (is|are) skipped or missed ·/).waitFor();
    expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
    await tab.close();
  });

  test("A press anywhere on a row of the agenda, of the schedules or of the jobs opens it", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    for (const { view, to } of [
      { view: window, to: /\/schedules\/.*why=2026-03-29T0/ },
      { view: "/schedules", to: /\/schedules\/./ },
      { view: "/jobs?state=dead", to: /\/jobs\/./ },
    ]) {
      await tab.open(view);
      await page
        .locator("tr[data-row]")
        .nth(2)
        .click({ position: { x: 600, y: 4 } });
      await page.waitForURL(to);
      await page.goBack();
      await page.locator("tr[data-row]").nth(2).waitFor();
    }
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("A press on a row in which a text is selected opens nothing, and its link of holds leads to the holds", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open(`${window}&outcome=held`);
    const row = page.locator("tr[data-row]").filter({ hasText: "held by" }).first();
    const word = await row.locator(".outcome-word").boundingBox();
    const [x = 0, y = 0] = word === null ? [] : [word.x, word.y + word.height / 2];
    await page.mouse.move(x + 15, y);
    await page.mouse.down();
    await page.mouse.move(x + 40, y, { steps: 5 });
    await page.mouse.up();
    expect(await page.evaluate<string>("String(getSelection())")).not.toBe("");
    expect(page.url()).toContain("/agenda");
    await row.getByRole("link", { name: /^held by/ }).click();
    await page.waitForURL(/\/holds/);
    await tab.close();
  });
});
