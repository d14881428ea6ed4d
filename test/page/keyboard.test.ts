import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { chromium } from "../support/chromium.ts";
import { until } from "../support/until.ts";
import { type OwnBrowser, settled } from "./browser.ts";
import { deadKey, filledPage, gapKey } from "./filled.ts";
import { axeFaults } from "./look-faults.ts";
import type { OwnPage } from "./own-page.ts";
import { withBrowser } from "./with-browser.ts";

/** The text of the control that has the focus; empty if none has it. */
const focused = (page: Page) =>
  page.evaluate<string>(`(() => {
    const at = document.activeElement;
    return at.matches("a, button, input, select") ? (at.getAttribute("aria-label") ?? at.textContent) : "";
  })()`);

/** Waits until an expression is true in the page. */
const holds = (page: Page, expression: string) =>
  until(`${expression} is true`, () => page.evaluate<boolean>(expression));

const becomes = (page: Page, text: string) =>
  until(`the focus is on ${text}`, async () => (await focused(page)) === text);

const stepsMax = 60;

/** Presses a key until the focus is on an element with this text. */
async function reach(page: Page, text: string, key = "Tab"): Promise<void> {
  const seen: string[] = [];
  for (let step = 0; step < stepsMax; step++) {
    const at = await focused(page);
    if (at.includes(text)) return;
    seen.push(at.slice(0, 40));
    await page.keyboard.press(key);
  }
  throw new Error(`${key} does not reach “${text}”: ${seen.join(" | ")}`);
}

describe.runIf(chromium !== undefined)("the page without a mouse (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  test("The arrows go through the menu of views, and Escape leads back to its button", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/");
    const more = page.getByRole("button", { name: "More" });
    await more.focus();
    await page.keyboard.press("ArrowDown");
    const links = await page.locator(".more-list a").allInnerTexts();
    expect(await focused(page)).toBe(links[0]);
    for (const [key, place] of [
      ["ArrowDown", 1],
      ["End", -1],
      ["ArrowDown", 0],
      ["ArrowUp", -1],
      ["Home", 0],
    ] as const) {
      await page.keyboard.press(key);
      expect(await focused(page)).toBe(links.at(place));
    }
    expect(await page.evaluate<number>("scrollY")).toBe(0);
    await page.keyboard.press("Escape");
    expect(await focused(page)).toBe("More");
    await tab.close();
  });

  test("Ctrl+K goes to a key by its beginning, and the focus is in the content then", async () => {
    const tab = await browser.tab();
    await tab.open("/");
    await tab.page.keyboard.press("Control+k");
    await tab.page.getByRole("combobox", { name: "Go to a key" }).waitFor();
    await tab.page.keyboard.type("billing:");
    await tab.page.getByRole("option", { name: gapKey }).waitFor();
    await tab.page.keyboard.press("Enter");
    await tab.page.getByRole("heading", { name: gapKey }).waitFor();
    await holds(tab.page, `document.activeElement.id === "main"`);
    expect(await tab.page.title()).toBe(`${gapKey} · production · Carillon`);
    await tab.page.keyboard.press("Control+k");
    await tab.page.keyboard.press("Escape");
    await tab.page.getByRole("dialog").waitFor({ state: "detached" });
    await holds(tab.page, `document.activeElement.id === "main"`);
    await tab.close();
  });

  test("Enter right after the last letter goes to the schedule, also if the answer is slow", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/");
    const entered = Promise.withResolvers<void>();
    await page.route("**/v1/schedules?*", async (route) => {
      await entered.promise;
      await route.continue();
    });
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Go to a key" }).waitFor();
    await page.keyboard.insertText(gapKey);
    await page.getByRole("option", { name: "Schedules whose key begins with" }).waitFor();
    await page.keyboard.press("Enter");
    entered.resolve();
    await page.getByRole("heading", { name: gapKey }).waitFor();
    await tab.close();
  });

  test("Ctrl+K says that keys are found by their beginning, and leads to the list of that beginning", async () => {
    const tab = await browser.tab({ width: 390, theme: "dark" });
    const { page } = tab;
    await tab.open("/");
    await page.keyboard.press("Control+k");
    await page.getByText("Keys are found by their beginning, e.g. crm:contact:").waitFor();
    await page.keyboard.type("contact");
    await page.getByText("No key and no view begins with that.").waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole("option", { name: "Schedules whose key begins with contact" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Schedules" }).waitFor();
    expect(new URL(page.url()).searchParams.get("prefix")).toBe("contact");
    await tab.close();
  });

  test("Ctrl+K finds a deleted schedule by its whole key, and its view makes it again", async () => {
    await own.client.schedules.put("gone:report", { when: "0 7 * * *", target: { queue: "reports" } });
    await own.client.schedules.delete("gone:report");
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("gone:report");
    await page.getByRole("option", { name: "deleted gone:report" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Before it was deleted" }).waitFor();
    await page.getByText("0 7 * * *").first().waitFor();
    await page.getByRole("button", { name: "Make it again …" }).first().click();
    const dialog = page.getByRole("alertdialog", { name: "Make gone:report again from version 1?" });
    await dialog.getByText("Its holds are not restored").waitFor();
    await dialog.getByRole("listitem").first().waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Make it again" }).click();
    await page.getByText("gone:report is there again, with the fields of version 1.").waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("active; version 1, saved by").waitFor();
    await tab.close();
  });

  test("A dead job is retried from Now without a mouse, and the dialog keeps and returns the focus", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/");
    // The first one copies the command of the problem, the second one shows what it counts.
    await reach(page, "HTTP 503");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    await settled(page);
    await reach(page, "show");
    await page.keyboard.press("Enter");
    await page.getByText(`a cadence job of ${deadKey}: dead`).waitFor();
    await reach(page, "Retry …");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("alertdialog");
    await dialog.getByText("It starts again at once").waitFor();
    for (let step = 0; step < 8; step++) {
      await page.keyboard.press("Tab");
      await holds(page, `document.activeElement.closest("[role=alertdialog]") !== null`);
    }
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await focused(page)).toBe("Retry …");
    await page.keyboard.press("Enter");
    await reach(page, "Retry the job");
    await page.keyboard.press("Enter");
    await dialog.getByText("The job waits for its next attempt").waitFor();
    await page.keyboard.press("Enter");
    await page.getByText(`a cadence job of ${deadKey}: retrying`).waitFor();
    await tab.close();
  });

  test("The first Tab reaches a link that skips the bar, in a view of any depth", async () => {
    const tab = await browser.tab();
    for (const view of ["/", `/schedules/${gapKey}`]) {
      await tab.open(view);
      await tab.page.keyboard.press("Tab");
      expect(await focused(tab.page)).toBe("Skip to the content");
      await tab.page.keyboard.press("Enter");
      expect(await tab.page.evaluate("document.activeElement.id")).toBe("main");
      expect(tab.page.url()).toBe(`${own.url}${encodeURI(view)}`);
    }
    await tab.close();
  });

  test.each([
    "/",
    "/schedules?prefix=sync",
    `/schedules/${gapKey}`,
    "/jobs?state=dead",
    "/load",
    "/load?view=week",
    "/holds",
  ])("Tab reaches every control of %s that a mouse can click", async (view) => {
    const tab = await browser.tab();
    await tab.open(view);
    const controls = await tab.page.evaluate<number>(`(() => {
        const all = [...document.querySelectorAll("a, button, input, select, textarea")];
        const usable = all.filter((each) => !each.disabled && each.checkVisibility());
        usable.forEach((each, place) => each.setAttribute("data-place", place));
        return usable.length;
      })()`);
    const reached = new Set<string | null>();
    for (let step = 0; step < controls + 3; step++) {
      await tab.page.keyboard.press("Tab");
      reached.add(await tab.page.evaluate(`document.activeElement.getAttribute("data-place")`));
    }
    const missed = Array.from({ length: controls }, (_, place) => String(place)).filter(
      (place) => !reached.has(place),
    );
    expect(missed).toEqual([]);
    await tab.close();
  });

  test("j and k move in the rows, Enter opens one, and letters typed into a field stay letters", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules?prefix=crm:");
    const keyAt = (place: number) => `crm:contact:${String(place).padStart(4, "0")}`;
    await page.keyboard.press("j");
    expect(await focused(page)).toBe(keyAt(0));
    for (let step = 0; step < 40; step++) await page.keyboard.press("j");
    await becomes(page, keyAt(40));
    await page.keyboard.press("k");
    await becomes(page, keyAt(39));
    const isUncovered = `(() => { const { left, top } = document.activeElement.getBoundingClientRect();
      return document.elementFromPoint(left + 2, top + 2) === document.activeElement; })()`;
    expect(await page.evaluate(isUncovered)).toBe(true);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: keyAt(39) }).waitFor();
    await tab.open("/schedules");
    await page.getByLabel("Tag").focus();
    await page.keyboard.type("jk?");
    expect(await page.getByLabel("Tag").inputValue()).toBe("jk?");
    await tab.close();
  });

  test("keys that are pressed faster than rows are rendered each move by a row", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules?prefix=crm:");
    await page.keyboard.press("j");
    await page.evaluate(`(() => { for (let n = 0; n < 80; n++)
      dispatchEvent(new KeyboardEvent("keydown", { key: "j", cancelable: true })); })()`);
    await becomes(page, "crm:contact:0080");
    await tab.close();
  });

  test("? lists the keys, turns off those without Ctrl, and changes the theme for later visits", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys and settings" }).waitFor();
    await page.getByLabel("dark").check();
    await page.getByLabel("Keys without Ctrl").uncheck();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("?");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.reload();
    await settled(page);
    expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
    await page.keyboard.press("j");
    expect(await page.evaluate("document.activeElement === document.body")).toBe(true);
    await tab.close();
  });
});
