import { describe, expect, test } from "vitest";
import { textAt } from "../../../lib/page/views/refused/text-at.ts";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser, Tab } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import type { OwnPage } from "../own-page.ts";
import { restPage } from "../rest-filled.ts";
import { withBrowser } from "../with-browser.ts";

test.each([
  ["put.when", "evry 1h"],
  ["put.tags[1]", "b"],
  ["put.retry", undefined],
  ["put.gone.more", undefined],
])("The text at %s of a command is %s", (path, text) => {
  expect(textAt({ put: { when: "evry 1h", tags: ["a", "b"], retry: { attempts: 3 } } }, path)).toBe(text);
});

describe.runIf(chromium !== undefined)("lists of the menu and of schedules (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(restPage, (opened) => {
    ({ own, browser } = opened);
  });

  const faultsOf = async ({ page, faults }: Tab) => [
    ...(await textFaults(page)),
    ...(await axeFaults(page)),
    ...faults,
  ];

  test.each([390, 1_440])(
    "One source of refused commands is current, and a fault stands beside its text, at %i px",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      const current = page.locator(".tabs a[aria-current]");
      await tab.open("/refused");
      expect(await current.allInnerTexts()).toEqual(["From the queue"]);
      await page.getByText("From SQL").click();
      await page.waitForURL(/of=inbox/);
      expect(await current.allInnerTexts()).toEqual(["From SQL"]);
      // Until the rows of the other source are gone, the first one may be theirs.
      const fault = page.locator(".faults").filter({ hasText: "in 3 h ours" }).first();
      await fault.waitFor();
      // The inner text of a row that was never painted is empty: its content is not laid out yet.
      expect(await fault.textContent()).toMatch(/^put.when “in 3 h ours”: .*\(at position 6\)/);
      expect(await faultsOf(tab)).toEqual([]);
      await page.locator("summary").first().click();
      await page.waitForURL(/id=/);
      expect(await current.allInnerTexts()).toEqual(["From SQL"]);
      await tab.close();
    },
  );

  test.each([390, 1_440])(
    "The form for the limits of another target is level at %i px, and its dialog can be left after a fault",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open("/limits");
      const field = page.getByLabel("Limit another target");
      const open = page.getByRole("button", { name: "Set its limits …" });
      const [input, button] = [await field.boundingBox(), await open.boundingBox()];
      expect([button?.y, button?.height]).toEqual([input?.y, input?.height]);
      expect(button?.width).toBeLessThan(140);
      const isCut = await page.evaluate<boolean>(`(() => {
        const input = document.querySelector(".one-field input");
        const style = getComputedStyle(input);
        const pen = document.createElement("canvas").getContext("2d");
        pen.font = style.font;
        const room = input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
        return pen.measureText(input.placeholder).width > room;
      })()`);
      expect(isCut).toBe(false);
      await field.fill("nowhere");
      await open.click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "Try again" }).waitFor();
      await dialog.getByRole("button", { name: "Leave it" }).click();
      await dialog.waitFor({ state: "detached" });
      await tab.close();
    },
  );

  test.each([390, 1_440])(
    "The audit has all its instants in the zone of the screen, and filters in words, at %i px",
    async (width) => {
      await own.client.schedules.patch("hooks:orders", { timezone: width === 390 ? "Asia/Tokyo" : "UTC" });
      await own.client.schedules.pause("once:later", { until: "2026-03-29T02:49:00Z", reason: "a move" });
      await own.client.schedules.changeMany({ verb: "resume", filter: { prefix: "once:" } });
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open("/audit?zone=Europe/Berlin");
      const row = page.locator(".audit li", { hasText: "held once:later" }).first();
      expect(await row.locator(".audit-line").textContent()).toMatch(/until 04:49:00, “a move”/);
      await page.getByText("key begins with once:").first().waitFor();
      await page.getByRole("button", { name: "Show timezone" }).first().click();
      const lines = await page.evaluate<number>(`(() => {
        const range = document.createRange();
        range.selectNodeContents(document.querySelector(".changes tbody th"));
        return range.getClientRects().length;
      })()`);
      expect(lines).toBe(1);
      expect(await faultsOf(tab)).toEqual([]);
      await tab.close();
    },
  );

  test("All schedules are counted by the statistics, and those of a filter by the server's count", async () => {
    const tab = await browser.tab({ width: 390 });
    const { page } = tab;
    await tab.open("/schedules");
    await page.locator("header.title").getByText("123 schedules", { exact: true }).waitFor();
    expect(await page.locator(".bulk-bar").first().innerText()).toMatch(
      /^Select some\.\s+Hold, release or change all$/,
    );
    await page.getByLabel("Key begins with").fill("once:");
    await page.locator("header.title").getByText("1 match", { exact: true }).waitFor();
    await page.getByText("Hold, release, change or delete all that match", { exact: true }).waitFor();
    expect(await faultsOf(tab)).toEqual([]);
    await tab.close();
  });
});
