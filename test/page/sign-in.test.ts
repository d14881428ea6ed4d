import { describe, expect, test } from "vitest";
import { chromium } from "../support/chromium.ts";
import { type OwnBrowser, settled } from "./browser.ts";
import { emptyPage } from "./filled.ts";
import { adminToken, type OwnPage } from "./own-page.ts";
import { withBrowser } from "./with-browser.ts";

describe.runIf(chromium !== undefined)("the sign-in in a browser (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(emptyPage, (opened) => {
    ({ own, browser } = opened);
  });

  test("A token in a link's fragment signs in, and stays in the storage of the tab alone", async () => {
    const tab = await browser.tab();
    const asked: string[] = [];
    tab.page.on("request", (request) => asked.push(`${request.url()} ${request.headers()["referer"] ?? ""}`));
    await tab.open("/");
    await tab.page.getByText("runs in the next hour").waitFor();
    expect(await tab.page.locator(".facts").textContent()).not.toContain("…");
    await tab.open("/schedules?prefix=a");
    expect(tab.page.url()).toBe(`${own.url}/schedules?prefix=a`);
    const kept = await tab.page.evaluate<Record<string, string>>(
      `({ session: JSON.stringify(sessionStorage), local: JSON.stringify(localStorage), cookies: document.cookie,
        state: JSON.stringify(history.state), links: document.documentElement.outerHTML })`,
    );
    const { session, ...others } = kept;
    expect(session).toContain(adminToken);
    expect(JSON.stringify([others, asked])).not.toContain(adminToken);
    await tab.page.goto("about:blank");
    await tab.page.goBack();
    await settled(tab.page);
    expect(tab.page.url()).toBe(`${own.url}/schedules?prefix=a`);
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("The page says which installation it is, before the sign-in, after it, and in the title of its tab", async () => {
    const tab = await browser.tab({ token: null });
    await tab.open("/holds");
    await tab.page.getByRole("heading", { name: "Carillon production" }).waitFor();
    await tab.page.getByLabel("Token").fill(adminToken);
    await tab.page.keyboard.press("Enter");
    await tab.page.getByRole("banner").getByText("production").waitFor();
    expect(await tab.page.title()).toBe("Holds · production · Carillon");
    await tab.close();
  });

  test("A refused token says what to do, and an accepted one opens the view of the address", async () => {
    const tab = await browser.tab({ token: null });
    await tab.open("/holds?owner=ops");
    await tab.page.getByLabel("Token").fill("mistyped");
    await tab.page.getByRole("button", { name: "Sign in" }).click();
    const refused = tab.page.getByRole("alert");
    await refused.waitFor();
    expect(await refused.textContent()).toContain("it has expired, was revoked, or is mistyped");
    await tab.page.getByLabel("Token").fill(adminToken);
    await tab.page.keyboard.press("Enter");
    await tab.page.getByRole("heading", { name: "Holds" }).waitFor();
    expect(tab.page.url()).toBe(`${own.url}/holds?owner=ops`);
    await tab.page.getByRole("button", { name: "Keys and settings" }).click();
    await tab.page.getByRole("button", { name: "Sign out" }).click();
    await tab.page.getByLabel("Token").waitFor();
    expect(await tab.page.evaluate<number>("sessionStorage.length")).toBe(0);
    await tab.close();
  });

  test("A token that is revoked while the page is open ends the session with a sentence", async () => {
    const { id, token } = await own.client.tokens.create({ name: "short", scope: "read" });
    const tab = await browser.tab({ token });
    await tab.open("/");
    await own.client.tokens.delete(id);
    await tab.page.clock.fastForward(10_000);
    await tab.page.getByRole("alert").filter({ hasText: "does not accept this token" }).waitFor();
    await tab.close();
  });

  test("No part of the page violates its Content-Security-Policy, dialogs included", async () => {
    const tab = await browser.tab();
    for (const view of ["/", "/schedules", "/jobs?state=dead", "/agenda", "/load?spread=10m", "/holds"])
      await tab.open(view);
    await tab.page.keyboard.press("Control+k");
    await tab.page.getByRole("combobox", { name: "Go to a key" }).fill("no");
    await tab.page.getByRole("option", { name: "Now" }).waitFor();
    await tab.page.keyboard.press("Escape");
    await tab.page.getByRole("dialog").waitFor({ state: "detached" });
    await tab.page.keyboard.press("?");
    await tab.page.getByRole("dialog", { name: "Keys" }).waitFor();
    await tab.page.keyboard.press("Escape");
    await tab.open("/tokens");
    await tab.page.getByRole("button", { name: "Revoke" }).first().click();
    await tab.page.getByRole("alertdialog").waitFor();
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("An empty installation says how its first schedule is made", async () => {
    const tab = await browser.tab();
    for (const view of ["/", "/schedules"]) {
      await tab.open(view);
      expect(await tab.page.locator("main").textContent()).toContain("There is no schedule yet");
      expect(await tab.page.locator("main").textContent()).toContain("carillon put hello");
    }
    await tab.open("/schedules?prefix=a");
    expect(await tab.page.locator("main").textContent()).toContain("No schedule matches");
    await tab.close();
  });
});
