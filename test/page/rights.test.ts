import { describe, expect, test } from "vitest";
import { chromium } from "../support/chromium.ts";
import type { OwnBrowser } from "./browser.ts";
import { deadKey, filledPage } from "./filled.ts";
import { axeFaults, textFaults } from "./look-faults.ts";
import type { OwnPage } from "./own-page.ts";
import { withBrowser } from "./with-browser.ts";

describe.runIf(chromium !== undefined)("tokens with fewer rights in a browser (need Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;
  let dead: string;

  withBrowser(filledPage, async (opened) => {
    ({ own, browser } = opened);
    const [job] = (await own.client.jobs.list({ state: "dead", key: deadKey, limit: 1 }).page()).items;
    dead = job?.id ?? "";
  });

  const buttonsOf = async (token: string, view: string) => {
    const tab = await browser.tab({ token });
    await tab.open(view);
    const buttons = await tab.page.locator("main").getByRole("button").allTextContents();
    await tab.close();
    return buttons;
  };

  test("A read token sees no button that changes something", async () => {
    const { token } = await own.client.tokens.create({ name: "reader", scope: "read" });
    const changing = /retry|cancel|hold|resume|release|delete|fire/i;
    for (const view of ["/jobs?state=dead", `/jobs/${dead}`, `/schedules/${deadKey}`, "/holds"]) {
      const buttons = await buttonsOf(token, view);
      expect([view, buttons.filter((text) => changing.test(text))]).toEqual([view, []]);
    }
    expect(await buttonsOf("admin-token", `/jobs/${dead}`)).toContain("Retry …");
    expect(await buttonsOf("admin-token", "/jobs?state=dead")).toContain("Retry all that match …");
  });

  test("A new schedule says that a read token may not save it only once that is known", async () => {
    const { token } = await own.client.tokens.create({ name: "looks", scope: "read" });
    const tab = await browser.tab({ token });
    const { page } = tab;
    const answer = Promise.withResolvers<void>();
    await page.route("**/v1/token", async (route) => {
      await answer.promise;
      await route.continue();
    });
    // It resolves once no request is under way.
    const opened = tab.open("/new");
    const state = page.locator(".save-line > [role=status]");
    await state.filter({ hasText: /^Write when it runs\.$/ }).waitFor();
    answer.resolve();
    await opened;
    await state.getByText("Your token may not save").waitFor();
    expect(await page.getByRole("button", { name: "Create" }).count()).toBe(0);
    await tab.close();
  });

  test.each([390, 1_440])("At %i px the page says why a token with fewer rights sees less", async (width) => {
    const body = { name: `narrow ${width}`, scope: "read", prefix: "hooks:partner-a:order-created" } as const;
    const { token } = await own.client.tokens.create(body);
    const tab = await browser.tab({ token, width });
    const { page } = tab;
    await tab.open("/");
    expect([...(await textFaults(page)), ...(await axeFaults(page))]).toEqual([]);
    await page.getByRole("link", { name: "read only, hooks:partner-a:order-created…" }).click();
    await page.getByRole("heading", { name: "Your token" }).waitFor();
    await tab.close();
    const admin = await browser.tab({ width });
    await admin.open("/");
    expect(await admin.page.locator(".token-note").count()).toBe(0);
    await admin.close();
  });

  test("A token with a prefix sees its own schedules in every view, and no error", async () => {
    const { token } = await own.client.tokens.create({ name: "team", scope: "write", prefix: "hooks:" });
    const tab = await browser.tab({ token });
    for (const view of ["/", "/schedules", "/jobs?state=dead", "/agenda", "/load", "/holds"]) {
      await tab.open(view);
      const text = await tab.page.locator("main").textContent();
      expect([view, await tab.page.getByRole("alert").allTextContents()]).toEqual([view, []]);
      expect([view, /crm:|device:|billing:/.test(text ?? "")]).toEqual([view, false]);
      expect([view, await textFaults(tab.page)]).toEqual([view, []]);
    }
    expect(await buttonsOf(token, "/jobs?state=dead")).toContain("Retry all that match …");
    await tab.close();
  });
});
