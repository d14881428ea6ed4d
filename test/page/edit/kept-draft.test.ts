import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import { type OwnBrowser, settled, type Tab } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";
import { daily, editorPage } from "./daily.ts";

const keptIn = ({ page }: Tab) => page.evaluate<string | null>('sessionStorage.getItem("carillon.draft")');

const restored = ({ page }: Tab) => page.getByRole("status").filter({ hasText: "was restored" });

async function reload({ page }: Tab): Promise<void> {
  page.once("dialog", (dialog) => void dialog.accept());
  await page.reload();
  await settled(page);
}

describe.runIf(chromium !== undefined)("an unsaved edit in a browser (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(editorPage, (opened) => {
    ({ own, browser } = opened);
  });

  test("An edit survives a reload of the tab, and can be discarded", async () => {
    await own.client.schedules.put("kept", daily);
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/kept/edit");
    await page.getByLabel("Description").fill("not saved");
    await reload(tab);
    await page.getByText("Your unsaved edit of version 1 was restored.").waitFor();
    expect(await page.getByLabel("Description").inputValue()).toBe("not saved");
    await page.getByRole("button", { name: "Discard it" }).click();
    expect(await page.getByLabel("Description").inputValue()).toBe("");
    await restored(tab).waitFor({ state: "detached" });
    await page.reload();
    await settled(page);
    expect(await page.getByLabel("Description").inputValue()).toBe("");
    expect(await keptIn(tab)).toBe(null);
    await tab.close();
  });

  test("A new schedule survives a reload, and is forgotten once it is created", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new?key=made");
    await page.getByLabel("When", { exact: true }).fill("0 7 * * *");
    await page.getByLabel(/^Queue/).fill("made");
    await reload(tab);
    await page.getByText("Your unsaved edit was restored.").waitFor();
    await page.getByRole("button", { name: "Create" }).click();
    await page.waitForURL("**/schedules/made");
    expect(await own.client.schedules.get("made")).toMatchObject({ when: "0 7 * * *" });
    expect(await keptIn(tab)).toBe(null);
    await tab.close();
  });

  test("A version that is saved during the reload is shown before the restored edit can be saved", async () => {
    await own.client.schedules.put("raced", daily);
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/raced/edit");
    await page.getByLabel("Description").fill("mine");
    await own.client.schedules.patch("raced", { tags: ["theirs"] });
    await reload(tab);
    await restored(tab).waitFor();
    const notice = page.getByRole("alert").filter({ hasText: "saved version 2" });
    expect(await notice.innerText()).toContain("It changed: tags");
    expect(await page.getByRole("button", { name: "Save", exact: true }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Drop my text, take version 2" }).click();
    await restored(tab).waitFor({ state: "detached" });
    expect(await keptIn(tab)).toBe(null);
    await tab.close();
  });

  test("An edit that is left in the page, and any edit at a sign-out, is not kept", async () => {
    await own.client.schedules.put("secret", daily);
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/secret/edit");
    await page.getByLabel("Description").fill("left");
    expect(await keptIn(tab)).toContain("left");
    await page.getByRole("link", { name: "Jobs" }).click();
    await page.getByRole("button", { name: "Leave and lose them" }).click();
    await page.waitForURL("**/jobs");
    expect(await keptIn(tab)).toBe(null);
    await tab.open("/schedules/secret/edit");
    await page.getByLabel("Description").fill("signed out");
    await page.getByRole("button", { name: "Keys and settings" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await page.evaluate<string>("JSON.stringify(sessionStorage)")).not.toContain("signed out");
    await tab.close();
  });

  test.each([
    { width: 390, theme: "dark" },
    { width: 1_440, theme: "light" },
  ] as const)("A restored edit can be read at $width px in the $theme theme", async (look) => {
    await own.client.schedules.put("read", daily);
    const tab = await browser.tab(look);
    await tab.open("/schedules/read/edit");
    await tab.page.getByLabel("Description").fill("not saved");
    await reload(tab);
    await restored(tab).waitFor();
    expect([...(await textFaults(tab.page)), ...(await axeFaults(tab.page)), ...tab.faults]).toEqual([]);
    await tab.close();
  });
});
