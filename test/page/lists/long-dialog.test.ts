import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { filledPage } from "../filled.ts";
import { axeFaults } from "../look-faults.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

const pictures = process.env["CARILLON_PICTURES"];

describe.runIf(chromium !== undefined)("a dialog with long texts on a phone (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, async (opened) => {
    ({ own, browser } = opened);
    const error = "HTTP 503 Service Unavailable: the partner's gateway has no healthy upstream. ".repeat(8);
    await own.world.sql`update carillon.jobs set error = ${error} where state = 'dead'`;
  });

  /** Whether a press at the middle of the button reaches it: nothing lies upon it, and it is on the screen. */
  const isReached = (page: Page, name: RegExp) =>
    page
      .getByRole("alertdialog")
      .getByRole("button", { name })
      .evaluate((button) => {
        const { x, y, width, height } = button.getBoundingClientRect();
        return button.contains(button.ownerDocument.elementFromPoint(x + width / 2, y + height / 2));
      });

  const isScrolled = (page: Page) => page.getByRole("alertdialog").evaluate(({ scrollTop }) => scrollTop > 0);

  test("The button that confirms is on the screen, while long errors scroll above it", async () => {
    const tab = await browser.tab({ width: 390 });
    const { page } = tab;
    await page.setViewportSize({ width: 390, height: 844 });
    await tab.open("/jobs?state=dead");
    const { promise: counted, resolve: answer } = Promise.withResolvers<void>();
    await page.route("**/v1/jobs:retry", async (route) => {
      await counted;
      await route.continue();
    });
    await page.getByRole("button", { name: "Retry all that match …" }).click();
    const dialog = page.getByRole("alertdialog");
    // The focus is in the dialog before the texts come.
    await dialog.getByLabel("Reason, for the audit").focus();
    answer();
    await dialog.getByRole("button", { name: /^Retry \d+ jobs$/ }).waitFor();
    expect(await dialog.evaluate((popup) => popup.scrollHeight > popup.clientHeight)).toBe(true);
    expect(await isReached(page, /^Retry \d+ jobs$/)).toBe(true);
    expect(await isReached(page, /^Leave it$/)).toBe(true);
    expect(await isScrolled(page)).toBe(false);
    const faults = await axeFaults(page);
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/dialog-light.png` });
    await page.emulateMedia({ colorScheme: "dark" });
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/dialog-dark.png` });
    const reason = dialog.getByLabel("Reason, for the audit");
    await dialog.getByRole("button", { name: "Leave it" }).focus();
    await page.keyboard.press("Shift+Tab");
    expect(await reason.evaluate((field) => field.matches(":focus"))).toBe(true);
    const field = await reason.boundingBox();
    const foot = await dialog.locator("footer").boundingBox();
    expect((field?.y ?? 0) + (field?.height ?? 0)).toBeLessThanOrEqual(foot?.y ?? 0);
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/dialog-focus.png` });
    expect([...faults, ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
    await tab.close();
  });
});
