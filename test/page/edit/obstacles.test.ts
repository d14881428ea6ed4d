import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import { type OwnBrowser, settled } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";
import { daily, editorPage } from "./daily.ts";

const when = (page: Page) => page.getByLabel("When", { exact: true });
const queue = (page: Page) => page.getByLabel("Queue", { exact: true });

/** A press with the keyboard, as a blocked button takes it. */
async function press(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name, exact: true }).focus();
  await page.keyboard.press("Enter");
}

/** The label of the field that has the focus, also inside of an editor of JSON. */
const focused = (page: Page) =>
  page.evaluate<string | undefined>(`(() => {
    const outer = document.activeElement;
    const inner = outer?.shadowRoot?.activeElement ?? outer;
    return inner?.ariaLabel ?? inner?.labels?.[0]?.innerText;
  })()`);

describe.runIf(chromium !== undefined)("an edit that cannot be saved yet (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(editorPage, (opened) => {
    ({ own, browser } = opened);
  });

  test("A new schedule is not created while its payload is not JSON, and the button leads to the payload", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    await when(page).fill("0 9 * * *");
    await queue(page).fill("reports");
    await page.getByLabel("Group", { exact: true }).fill("unread");
    await page.getByLabel("Payload, JSON").fill("{n: 1}");
    const reason = page.getByRole("status").filter({ hasText: "The payload is not JSON." });
    await reason.waitFor();
    await press(page, "Create");
    expect(await focused(page)).toBe("Payload, JSON");
    expect(await own.client.schedules.count({ group: "unread" })).toMatchObject({ count: 0 });
    await page.getByLabel("Payload, JSON").fill('{"n": 1}');
    await reason.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Create" }).click();
    await page.waitForURL(/schedules\/[0-9a-f-]{36}/);
    const [made] = await own.client.schedules.list({ group: "unread" }).take(1);
    expect((await own.client.schedules.get(made?.key ?? "")).payload).toEqual({ n: 1 });
    await tab.close();
  });

  test("A payload that is not JSON is an unsaved edit: it is kept over a reload, and not left unasked", async () => {
    await own.client.schedules.put("unread", daily);
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/unread/edit");
    await page.getByLabel("Payload, JSON").fill("{n: 1}");
    await page.getByText("The payload is not JSON.").waitFor();
    page.once("dialog", (dialog) => void dialog.accept());
    await page.reload();
    await settled(page);
    expect(await page.getByLabel("Payload, JSON").innerText()).toContain("{n: 1}");
    await press(page, "Save");
    expect(await focused(page)).toBe("Payload, JSON");
    await page.getByRole("link", { name: "Jobs" }).click();
    await page.getByRole("alertdialog", { name: "Leave without saving?" }).waitFor();
    expect((await own.client.schedules.get("unread")).version).toBe(1);
    await tab.close();
  });

  test("A schedule whose text is not JSON is not saved, and the button leads to the text", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    await page.getByLabel("The schedule, JSON.").fill("{ when: 1");
    await page.getByText("The schedule’s text is not a JSON object.").waitFor();
    await press(page, "Create");
    expect(await focused(page)).toContain("The schedule, JSON.");
    await tab.close();
  });

  test("A new schedule says what it lacks first, and shows no field as faulty before Create is pressed", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    const state = page.locator(".save-line > [role=status]");
    await state.filter({ hasText: /^Write when it runs\.$/ }).waitFor();
    expect(await page.locator("[aria-invalid=true]").count()).toBe(0);
    await press(page, "Create");
    expect(await focused(page)).toBe("When");
    expect(await when(page).getAttribute("aria-invalid")).toBe("true");
    await when(page).fill("0 9 * * *");
    await page.locator(".run-list li").first().waitFor();
    await settled(page);
    await state.filter({ hasText: /^Give it a queue\.$/ }).waitFor();
    expect(await page.locator("[aria-invalid=true]").count()).toBe(0);
    await press(page, "Create");
    expect(await focused(page)).toBe("Queue");
    await page.locator(".field-fault").getByText("Give it a queue.").waitFor();
    await page.getByLabel("Kind").selectOption("webhook");
    await page.getByText("Give it a URL.").waitFor();
    await settled(page);
    expect(await page.locator("[aria-invalid=true]").count()).toBe(0);
    await page.getByLabel("Kind").selectOption("event");
    await page.getByText("Not saved yet.").waitFor();
    expect(await page.getByRole("button", { name: "Create" }).isEnabled()).toBe(true);
    await tab.close();
  });

  test.each([
    ["queue", "locally a missing queue is made"],
    ["event", "Goes to the account’s default bus, and needs no set-up."],
    ["webhook", "Needs a public HTTPS address."],
  ])("Beneath the kind of a target stands the set-up that it needs: %s", async (kind, hint) => {
    const tab = await browser.tab();
    await tab.open("/new");
    await tab.page.getByLabel("Kind").selectOption(kind);
    const id = await tab.page.getByLabel("Kind").getAttribute("aria-describedby");
    expect(await tab.page.locator(`[id="${id}"]`).innerText()).toContain(hint);
    await tab.close();
  });

  test.each([
    { width: 390, theme: "dark" },
    { width: 1_440, theme: "light" },
  ] as const)("A blocked Create can be read at $width px in the $theme theme", async (look) => {
    const tab = await browser.tab(look);
    await tab.open("/new");
    const create = tab.page.getByRole("button", { name: "Create" });
    expect(await contrastOf(tab.page)).toBeGreaterThan(4.5);
    expect(await create.isDisabled()).toBe(true);
    expect([...(await textFaults(tab.page)), ...(await axeFaults(tab.page)), ...tab.faults]).toEqual([]);
    await tab.close();
  });
});

/** The contrast of the blocked button's text with its ground, by WCAG. */
const contrastOf = (page: Page) =>
  page.evaluate<number>(`(() => {
    const { color, backgroundColor, opacity } = getComputedStyle(document.querySelector(".save-line .primary"));
    if (opacity !== "1") return 0;
    const light = (text) => {
      const [r, g, b] = text.match(/[\\d.]+/g).map((part) => {
        const share = Number(part) / 255;
        return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const [dim, bright] = [light(color), light(backgroundColor)].sort((a, b) => a - b);
    return (bright + 0.05) / (dim + 0.05);
  })()`);
