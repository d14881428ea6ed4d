import { describe, expect, test } from "vitest";
import { CarillonProblem } from "../../../lib/client/main.ts";
import { refusalText } from "../../../lib/page/data/text/refusal-text.ts";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";
import { daily, editorPage } from "./daily.ts";

test("A refusal with faults is said by its faults alone", () => {
  const problem = { type: "urn:carillon:problem:invalid", title: "Invalid", status: 400 };
  const detail = "The body is not understood.";
  const errors = [{ path: "name", message: "may not hold `/`" }];
  expect(refusalText(new CarillonProblem({ ...problem, detail, errors }))).toBe("name may not hold `/`.");
  expect(refusalText(new CarillonProblem({ ...problem, detail }))).toBe(detail);
});

describe.runIf(chromium !== undefined)("an edit before and during its save (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(editorPage, (opened) => {
    ({ own, browser } = opened);
  });

  test("A missing queue is named beside the coming runs before the schedule can be created", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    const create = page.getByRole("button", { name: "Create" });
    expect(await create.isDisabled()).toBe(true);
    await page.getByLabel("When", { exact: true }).fill("0 9 * * *");
    const missing = page.getByText("Before it can be saved: target.queue takes the name, URL or ARN");
    await page.getByText("Give it a queue.").waitFor();
    await page.locator(".run-list li").last().waitFor();
    expect(await page.locator(".run-list li").count()).toBe(20);
    expect(await missing.count()).toBe(0);
    expect(await create.isDisabled()).toBe(true);
    await create.press("Enter");
    await missing.waitFor();
    await page.getByLabel("Queue", { exact: true }).fill("reports");
    await missing.waitFor({ state: "detached" });
    await create.click();
    await page.waitForURL(/schedules\/[0-9a-f-]{36}/);
    await tab.close();
  });

  test("A save under way is not left, and its answer leads on", async () => {
    await own.client.schedules.put("in-flight", daily);
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/in-flight/edit");
    const { promise: gate, resolve: release } = Promise.withResolvers<void>();
    await page.route("**/v1/schedules/in-flight", async (route) => {
      if (route.request().method() === "PUT") await gate;
      await route.continue();
    });
    await page.getByLabel("Description").fill("saved");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("link", { name: "Jobs" }).click();
    await page.getByRole("alertdialog", { name: "It is being saved" }).waitFor();
    expect(await page.getByRole("button", { name: "Leave and lose them" }).count()).toBe(0);
    release();
    await page.waitForURL("**/schedules/in-flight");
    await page.getByRole("alertdialog").waitFor({ state: "detached" });
    expect(await own.client.schedules.get("in-flight")).toMatchObject({ version: 2, description: "saved" });
    await tab.close();
  });

  test("A refused save moves the focus to the field that is at fault", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new?key=refused");
    await page.getByLabel("When", { exact: true }).fill("0 7 * * *");
    await page.getByLabel(/^Queue/).fill("reports");
    // The preview would have said it, but its answer takes too long.
    await page.route("**/v1/preview", () => {});
    await page.getByLabel("Timeout of an attempt").fill("soon");
    await page.getByRole("button", { name: "Create" }).click();
    await page.locator("[aria-invalid='true']:focus").waitFor();
    expect(await page.locator(":focus").inputValue()).toBe("soon");
    await tab.close();
  });
});
