import { describe, expect, test } from "vitest";
import { CarillonProblem } from "../../../lib/client/main.ts";
import { refusalText } from "../../../lib/page/data/text/refusal-text.ts";
import { chromium } from "../../support/chromium.ts";
import { type OwnBrowser, settled } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
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

  test("A missing queue is named at its field before the schedule can be created, and the server is not asked about it", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    const refused: string[] = [];
    page.on("response", (answer) => {
      if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.request().postData()}`);
    });
    await tab.open("/new");
    const create = page.getByRole("button", { name: "Create" });
    expect(await create.isDisabled()).toBe(true);
    await page.getByLabel("When", { exact: true }).fill("0 9 * * *");
    const missing = page.locator(".field-fault").getByText("Give it a queue.");
    await page.getByRole("button", { name: "Give it a queue." }).waitFor();
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
    expect([...refused, ...tab.faults]).toEqual([]);
    await tab.close();
  });

  test("An expression that is added and not written yet hides no run, and is named before the schedule can be created", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    await page.getByLabel("Queue", { exact: true }).fill("reports");
    await page.getByLabel("When", { exact: true }).fill("0 9 * * *");
    await page.getByRole("button", { name: "Add another expression" }).click();
    await page.locator(".run-list li").first().waitFor();
    await settled(page);
    await page.getByRole("button", { name: "Write the empty expression, or remove it." }).click();
    await page.locator(".field-fault").getByText("Write when it runs.").waitFor();
    // Written at once: the preview of half a text, which a slow machine may ask for, is refused.
    await page.locator(":focus").fill("0 17 * * *");
    await page.locator(".sentence").getByText("0 17 * * *").waitFor();
    expect(await page.getByLabel("When, expression 2").inputValue()).toBe("0 17 * * *");
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test.each([390, 1_440])(
    "While the reading of a changed text is awaited, the one of before is marked as that at %i px, and not while other fields change",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      await tab.open("/new");
      const when = page.getByLabel("When", { exact: true });
      await when.fill("0 9 * * *");
      const reading = page.locator(".sentence").first();
      await reading.getByText("at 09:00 every day").waitFor();
      await settled(page);
      const { promise: gate, resolve: release } = Promise.withResolvers<void>();
      await page.route("**/v1/preview", async (route) => {
        await gate;
        await route.continue();
      });
      await page.getByLabel("Queue", { exact: true }).fill("reports");
      expect(await reading.innerText()).toMatch(/^at 09:00 every day, Europe\/Berlin\s+0 9 \* \* \*$/);
      await when.fill("0 10 * * *");
      expect(await reading.innerText()).toMatch(/^was: at 09:00 every day, Europe\/Berlin\s+checking …$/);
      expect(await page.locator(".earlier .run-list").count()).toBe(1);
      expect([...(await textFaults(page)), ...(await axeFaults(page))]).toEqual([]);
      release();
      await reading.getByText("at 10:00 every day").waitFor();
      expect(await page.locator(".earlier").count()).toBe(0);
      await tab.close();
    },
  );

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
