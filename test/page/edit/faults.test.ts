import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { parseWhen } from "../../../lib/cadence/when/parse-when.ts";
import { proposedWhen } from "../../../lib/page/views/edit/faults.ts";
import { zoneMeant } from "../../../lib/page/views/edit/zone-meant.ts";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import { ownPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

const when = (page: Page) => page.getByLabel("When", { exact: true });

const context = { timezone: "UTC", now: Date.parse("2027-03-26T12:00:00Z"), key: "a" };

test.each([
  ["every day at 02:30", "30 2 * * *"],
  ["monday 9:00", "0 9 * * 1"],
  ["  evry 5m", "  every 5m"],
  ["dayly", "@daily"],
  ["every mintue", "every minute"],
  ["every 5 minuts", "every 5 minute"],
  ["0 9 * sept mon", "0 9 * sep mon"],
])("The fault of `%s` proposes `%s`, which is understood", (typed, proposed) => {
  const fault = parseWhen(typed, context);
  if (fault.ok) throw new Error("It is understood.");
  expect(proposedWhen(typed, `${fault.message} (at position ${fault.position})`)).toBe(proposed);
  expect(parseWhen(proposed, context).ok).toBe(true);
});

test("A fault without a proposal, or with one for a word that was cut short, proposes nothing", () => {
  expect(proposedWhen("0 25 * * *", '"25" is out of range. (at position 2)')).toBe(null);
  expect(proposedWhen("evry 5m", '"evry…" is not understood; did you mean every? (at position 0)')).toBe(
    null,
  );
});

test("A zone is proposed for the name of its city, unless several end with it", () => {
  expect(zoneMeant("Berlin")).toBe("Europe/Berlin");
  expect(zoneMeant("new york")).toBe("America/New_York");
  expect(zoneMeant("europe berlin")).toBe("Europe/Berlin");
  expect(zoneMeant("lin")).toBe(null);
  expect(zoneMeant("?")).toBe(null);
});

describe.runIf(chromium !== undefined)("the faults of an edit (need Chromium)", () => {
  let browser: OwnBrowser;

  withBrowser(
    () => ownPage("2027-03-26T12:00:00.000Z"),
    (opened) => {
      ({ browser } = opened);
    },
  );

  test("A key that is refused hides neither the words nor the runs of a time that is understood", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    await page.getByLabel("Key", { exact: true }).fill("a/nightly");
    await when(page).fill("30 2 * * *");
    await page.getByText("may not hold").first().waitFor();
    await page.locator(".run-list li").first().waitFor();
    expect(await page.locator(".run-list li").count()).toBe(20);
    expect(await page.getByText("The server does not understand it yet").count()).toBe(0);
    await tab.close();
  });

  test("The time from which runs are listed stays on its clocks while the expression has a fault", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new?zone=Asia/Tokyo");
    await when(page).fill("30 2 * * *");
    const from = page.getByLabel("Show runs from");
    await from.fill("2027-04-01T00:00");
    await page.locator(".run-list li", { hasText: "2027-04-01" }).waitFor();
    await when(page).fill("30 25 * * *");
    await page.locator('input[aria-invalid="true"]').first().waitFor();
    expect(await from.inputValue()).toBe("2027-04-01T00:00");
    await tab.close();
  });

  test("A fault is said once, although the target is missing too, and its names are code", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    await when(page).fill("every day at 02:30");
    await page.getByLabel("Time zone").fill("Berlin");
    const zone = page.locator(".field", { hasText: "Time zone" }).locator(".field-fault p");
    const fault = page.locator(".field.when .field-fault p");
    await fault.first().waitFor();
    // The fault of the zone has come too, and waits until its field is left.
    await page.locator(".faults li", { hasText: "timezone" }).waitFor();
    expect(await zone.count()).toBe(0);
    expect(await page.getByLabel("Time zone").getAttribute("aria-invalid")).toBe("false");
    await page.keyboard.press("Enter");
    await zone.first().waitFor();
    expect(await page.getByLabel("Time zone").getAttribute("aria-invalid")).toBe("true");
    expect(await fault.allInnerTexts()).toEqual([
      "Times of day are written as cron; did you mean 30 2 * * *?",
    ]);
    expect(await zone.allInnerTexts()).toEqual([
      "is not the name of an IANA time zone, such as Europe/Berlin",
    ]);
    expect(await zone.locator("code").innerText()).toBe("Europe/Berlin");
    await page.getByRole("button", { name: "Use Europe/Berlin" }).click();
    expect(await page.getByLabel("Time zone").inputValue()).toBe("Europe/Berlin");
    await zone.waitFor({ state: "detached" });
    await tab.close();
  });

  test.each([
    { width: 390, theme: "dark" },
    { width: 1_440, theme: "light" },
  ] as const)("A proposed expression is taken with one press ($width px, $theme)", async (look) => {
    const tab = await browser.tab(look);
    const { page } = tab;
    await tab.open("/new");
    await when(page).fill("every day at 02:30");
    const use = page.getByRole("button", { name: "Use 30 2 * * *" });
    await use.waitFor();
    expect([...(await textFaults(page)), ...(await axeFaults(page))]).toEqual([]);
    await use.click();
    expect(await when(page).inputValue()).toBe("30 2 * * *");
    await use.waitFor({ state: "detached" });
    await page.locator(".run-list li").first().waitFor();
    await tab.close();
  });
});
