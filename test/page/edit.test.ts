import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { isNotFound } from "../../lib/client/main.ts";
import { chromium } from "../support/chromium.ts";
import type { OwnBrowser, Tab } from "./browser.ts";
import { axeFaults, textFaults } from "./look-faults.ts";
import { type OwnPage, ownPage } from "./own-page.ts";
import { withBrowser } from "./with-browser.ts";

/** Two days before the clocks of Berlin go forward. */
const begin = "2027-03-26T12:00:00.000Z";

const daily = { when: "0 9 * * *", timezone: "Europe/Berlin", target: { queue: "reports" } };

/** The document as the JSON editor shows it. */
const shownJson = (page: Page) => page.getByLabel("The schedule, JSON.").innerText();

/** Answers that refuse are part of these tests; Chromium reports each of them. */
const faultsOf = ({ faults }: Tab) => faults.filter((text) => !text.startsWith("Failed to load resource"));

describe.runIf(chromium !== undefined)("the editor in a browser (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(
    () => ownPage(begin),
    (opened) => {
      ({ own, browser } = opened);
    },
  );

  test("A run in the missing hour is seen before the schedule is created", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    await page.getByLabel("Key", { exact: true }).fill("night:report");
    await page.getByLabel("When", { exact: true }).fill("30 2 * * *");
    await page.getByLabel("Time zone").fill("Europe/Berlin");
    await page.getByLabel("Queue", { exact: true }).fill("reports");
    await page.getByText("2027-03-28 02:30 does not exist in Europe/Berlin").waitFor();
    const run = page.getByRole("listitem").filter({ hasText: "2027-03-28 03:00" });
    expect(await run.innerText()).toContain("02:30 does not exist on this day");
    const before = await own.client.schedules.get("night:report").catch((error: unknown) => error);
    expect(isNotFound(before)).toBe(true);
    await page.getByRole("button", { name: "Create" }).click();
    await page.waitForURL("**/schedules/night*report");
    expect(await own.client.schedules.get("night:report")).toMatchObject({
      when: "30 2 * * *",
      timezone: "Europe/Berlin",
      target: { queue: "reports" },
      version: 1,
    });
    expect(faultsOf(tab)).toEqual([]);
    await tab.close();
  });

  test("A double click on Create makes one schedule, also without a key", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    await page.getByLabel("When", { exact: true }).fill("0 5 1 1 *");
    await page.getByLabel("Queue", { exact: true }).fill("once");
    await page.getByLabel("Group", { exact: true }).fill("double");
    await page.getByRole("button", { name: "Create" }).dblclick();
    await page.waitForURL(/schedules\/[0-9a-f-]{36}/);
    expect(await own.client.schedules.count({ group: "double" })).toMatchObject({ count: 1 });
    await tab.close();
  });

  test("An edit shows to which time each run moves, and is saved as the next version", async () => {
    await own.client.schedules.put("a:b c@d", daily);
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open(`/schedules/${encodeURIComponent("a:b c@d")}/edit`);
    const save = page.getByRole("button", { name: "Save", exact: true });
    expect(await save.isDisabled()).toBe(true);
    await page.getByLabel("When", { exact: true }).fill("0 10 * * *");
    const moved = page.locator(".run-list li.moved").first();
    await moved.waitFor();
    expect(await moved.locator("time").allTextContents()).toEqual(["Sat 2027-03-27 09:00", "10:00"]);
    await save.click();
    await page.waitForURL((url) => !url.pathname.endsWith("/edit"));
    expect(await own.client.schedules.get("a:b c@d")).toMatchObject({ version: 2, when: "0 10 * * *" });
    expect(faultsOf(tab)).toEqual([]);
    await tab.close();
  });

  test("A version that another caller saves meanwhile is not overwritten unseen", async () => {
    await own.client.schedules.put("conflict", daily);
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/conflict/edit");
    await page.getByLabel("Description").fill("mine");
    await own.client.schedules.patch("conflict", { tags: ["theirs"] });
    await page.getByRole("button", { name: "Save", exact: true }).click();
    const notice = page.getByRole("alert").filter({ hasText: "saved version 2" });
    await notice.waitFor();
    expect(await notice.innerText()).toContain("It changed: tags");
    await page.getByText("Not saved: choose a version first.").waitFor();
    expect(await page.getByRole("alert").count()).toBe(1);
    expect((await own.client.schedules.get("conflict")).description).toBe(null);
    await page.getByRole("button", { name: "Reload version 2, keep my text" }).click();
    expect(await shownJson(page)).toContain("mine");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.waitForURL((url) => !url.pathname.endsWith("/edit"));
    expect(await own.client.schedules.get("conflict")).toMatchObject({ version: 3, description: "mine" });
    await tab.close();
  });

  test("A form in which nothing was edited goes on with the version that another caller saves, and says so", async () => {
    await own.client.schedules.put("unedited", daily);
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/unedited/edit");
    await page.getByText("Nothing is changed.", { exact: true }).waitFor();
    await own.client.schedules.patch("unedited", { when: "0 11 * * *" });
    await page.evaluate('window.dispatchEvent(new Event("visibilitychange"))');
    await page.getByText("Nothing is changed. Version 2, saved meanwhile by", { exact: false }).waitFor();
    expect(await page.getByLabel("When", { exact: true }).inputValue()).toBe("0 11 * * *");
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await page.getByRole("button", { name: "Save", exact: true }).isDisabled()).toBe(true);
    await tab.close();
  });

  test("The form of a time that is not understood is shown as it is written, not on the clocks of a zone", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    await page.getByLabel("When", { exact: true }).fill("at half past two");
    await page
      .getByText("A time has the form 2026-12-01T09:00, 2026-12-01T09:00:00Z or 2026-12-01T09:00:00+01:00")
      .first()
      .waitFor();
    await tab.close();
  });

  test("A fault is shown at its field, and under the place in the expression", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    const when = page.getByLabel("When", { exact: true });
    await when.fill("0 25 * * *");
    await page.locator('input[aria-invalid="true"]').first().waitFor();
    expect(await page.locator(".fault-place").innerText()).toBe("  ^");
    await when.fill("0 9 * * *");
    await page.getByLabel("Timeout of an attempt").fill("3 weeks");
    const field = page.locator(".field", { hasText: "Timeout of an attempt" });
    await field.getByText("takes a duration").waitFor();
    await page.getByLabel("Timeout of an attempt").fill("");
    await page.getByLabel("Queue", { exact: true }).fill("a queue");
    await page
      .locator(".field", { hasText: "name, URL or ARN" })
      .getByText("takes the name, URL or ARN")
      .waitFor();
    expect(faultsOf(tab)).toEqual([]);
    await tab.close();
  });

  test("A field's hint is beneath it, and neither a part of its name nor in the place of its value", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    const begins = page.getByLabel("Starts at", { exact: true });
    expect(await begins.getAttribute("placeholder")).toBe("none (default)");
    const hint = await begins.getAttribute("aria-describedby");
    expect(await page.locator(`[id="${hint}"]`).innerText()).toBe(
      "no run before it, e.g. 2026-12-01T09:00:00Z",
    );
    const examples = page.getByText("e.g. 0 9 * * 1-5", { exact: false });
    const when = page.getByLabel("When", { exact: true });
    expect(await when.getAttribute("aria-describedby")).toBe(await examples.getAttribute("id"));
    expect(await when.getAttribute("placeholder")).toBe(null);
    await tab.close();
  });

  test("Fields that the form cannot draw are saved as they are written", async () => {
    const webhook = { url: "https://a.example/", headers: { "x-a": "1" } };
    const payload = { list: [{ amount: 1.5 }], "key.with.dots": null };
    await own.client.schedules.put("whole", {
      when: "every 1h",
      target: { webhook },
      payload,
      retry: { attempts: 3, delays: ["1s", "2m"], backoff: "list" },
    });
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/schedules/whole/edit");
    await page.getByLabel("Description").fill("by the form");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.waitForURL((url) => !url.pathname.endsWith("/edit"));
    const saved = await own.client.schedules.get("whole");
    expect(saved).toMatchObject({
      payload,
      description: "by the form",
      retry: { delays: ["1s", "2m"] },
      target: { webhook: { headers: { "x-a": "1" } } },
    });
    const [newest] = (await own.client.schedules.versions("whole").page()).items;
    expect(newest?.changes.map(({ path }) => path)).toEqual(["description"]);
    await tab.close();
  });

  test("Leaving with unsaved changes asks first", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await own.client.schedules.put("left", daily);
    await tab.open("/schedules/left/edit");
    await page.getByLabel("Description").fill("not saved");
    await page.getByRole("link", { name: "Jobs" }).click();
    await page.getByRole("alertdialog", { name: "Leave without saving?" }).waitFor();
    await page.getByRole("button", { name: "Stay here" }).click();
    expect(new URL(page.url()).pathname).toBe("/schedules/left/edit");
    expect(await page.getByLabel("Description").inputValue()).toBe("not saved");
    await page.getByRole("link", { name: "Jobs" }).click();
    await page.getByRole("button", { name: "Leave and lose them" }).click();
    await page.waitForURL("**/jobs");
    await tab.close();
  });

  test("The JSON is edited with the keyboard alone, and Tab leaves the editor", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/new");
    const json = page.getByLabel("The schedule, JSON.");
    await json.focus();
    await page.keyboard.press("Control+A");
    await page.keyboard.type('{ "key": "typed", "when": "every 2h", "description": "jk?" }');
    await page.getByText("Every 2 hours").first().waitFor();
    expect(await page.getByLabel("Key", { exact: true }).inputValue()).toBe("typed");
    expect(await page.getByLabel("Description").inputValue()).toBe("jk?");
    await page.keyboard.press("Shift+Tab");
    expect(await page.evaluate("document.activeElement.closest('.json-editor')")).toBe(null);
    expect(faultsOf(tab)).toEqual([]);
    await tab.close();
  });

  test("A schedule with the key `new` has the address /schedules/new, which else leads to the editor", async () => {
    const tab = await browser.tab();
    await tab.open("/schedules/new");
    await tab.page.waitForURL("**/new");
    await tab.page.getByRole("heading", { name: "New schedule" }).waitFor();
    await own.client.schedules.put("new", daily);
    await tab.open("/schedules/new?zone=UTC");
    await tab.page.getByRole("heading", { name: "new", exact: true }).waitFor();
    await tab.close();
  });

  test.each([
    { width: 390, theme: "dark" },
    { width: 1_440, theme: "light" },
  ] as const)("The editor can be read at $width px in the $theme theme", async (look) => {
    await own.client.schedules.put("looked-at", daily);
    const tab = await browser.tab(look);
    await tab.open("/schedules/looked-at/edit");
    await tab.page.getByLabel("When", { exact: true }).fill("30 2 * * *");
    await tab.page.locator(".run-list li.moved").first().waitFor();
    expect([...(await textFaults(tab.page)), ...(await axeFaults(tab.page)), ...faultsOf(tab)]).toEqual([]);
    await tab.close();
  });
});
