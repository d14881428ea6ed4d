import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { deadKey, filledPage } from "../filled.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import type { OwnPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

describe.runIf(chromium !== undefined)("the list of jobs (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(filledPage, (opened) => {
    ({ own, browser } = opened);
  });

  test("The errors of dead jobs mark the chosen one, and leave the panel once their jobs are retried", async () => {
    const { items } = await own.client.jobs.groups();
    const [first] = items;
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/jobs?state=dead");
    const groups = page.locator(".groups > li");
    await groups.first().waitFor();
    expect(await groups.count()).toBe(items.length);
    await groups.first().getByRole("button", { name: "Show" }).click();
    await page.locator('.groups > li[aria-current="true"]').waitFor();
    // The listed jobs are not below errors that they do not have.
    expect(await groups.count()).toBe(1);
    const chips = page.getByRole("list", { name: "Further filters" });
    expect(await chips.textContent()).toContain(first?.error);
    await page.getByRole("button", { name: "Retry all that match …" }).click();
    await page.getByRole("button", { name: /^Retry \d+ jobs?$/ }).click();
    await page.getByRole("heading", { name: "Done" }).waitFor();
    const became = { name: `What became of ${first?.count} jobs` };
    await page.getByRole("alertdialog").getByRole("link", became).waitFor();
    await page
      .getByRole("alertdialog")
      .getByRole("link", { name: `${first?.count} waiting for a retry` })
      .waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByText("No job of this error is dead any more.").waitFor();
    expect(await chips.textContent()).toContain(first?.error);
    await page.getByRole("button", { name: "Show all errors" }).click();
    await groups.nth(items.length - 1).waitFor({ state: "detached" });
    expect(await groups.count()).toBe(items.length - 1);
    await page.getByRole("link", became).click();
    await page
      .getByRole("list", { name: "Further filters" })
      .getByText(/^retried by /)
      .waitFor();
    const entry = new URL(page.url()).searchParams.get("entry") ?? "";
    const listed = await own.client.jobs.list({ entry, limit: 100 }).page();
    expect(listed.items).toHaveLength(first?.count ?? 0);
    await page
      .getByText(listed.items[0]?.key ?? "none")
      .first()
      .waitFor();
    await tab.close();
  });

  test("A job that was missed is called so in the list and in its own view", async () => {
    const { items } = await own.client.jobs.list({ state: "skipped", reason: "missed", limit: 1 }).page();
    const [missed] = items;
    const tab = await browser.tab();
    await tab.open(`/jobs?state=skipped&key=${missed?.key}`);
    await tab.page
      .getByRole("table", { name: "Jobs" })
      .getByText("missed", { exact: true })
      .first()
      .waitFor();
    await tab.open(`/jobs/${missed?.id}`);
    await tab.page.getByText(/^a cadence job of .*: missed$/).waitFor();
    await tab.page.getByText("none: it was missed").waitFor();
    await tab.close();
  });

  test("The list says its order, and offers no retry of jobs while there is none", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    const retry = page.getByRole("button", { name: "Retry all that match …" });
    await tab.open("/jobs?state=cancelled");
    await page.getByText("No job matches.").waitFor();
    expect(await retry.isDisabled()).toBe(true);
    await page.getByText("the newest occurrences first").waitFor();
    await tab.open("/jobs?state=dead");
    await page.getByText("the latest deaths first").waitFor();
    await page.locator("tr[data-row]").first().waitFor();
    expect(await retry.isDisabled()).toBe(false);
    await tab.close();
  });

  test.each([
    ["", { upcoming: false }],
    ["?state=succeeded&prefix=device:", { state: "succeeded", prefix: "device:", upcoming: false }],
    ["?state=dead", { state: "dead", upcoming: false }],
    [`?key=${deadKey}`, { key: deadKey, upcoming: false }],
    ["?state=cancelled", { state: "cancelled", upcoming: false }],
  ] as const)("The list says how many jobs it has: /jobs%s", async (search, filter) => {
    let meant = 0;
    for await (const _ of own.client.jobs.list({ ...filter, limit: 100 })) meant += 1;
    const tab = await browser.tab();
    await tab.open(`/jobs${search}`);
    const text = meant === 1 ? "1 job" : `${new Intl.NumberFormat("en").format(meant)} jobs`;
    await tab.page.locator("header.title").getByText(`${text}, the `).waitFor();
    await tab.close();
  });

  test("A state has the same word in the filter as in the rows, and the API's in the address", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/jobs");
    const filter = page.getByLabel("State");
    expect(await filter.locator("option").allInnerTexts()).toEqual([
      "any",
      "waits",
      "is running",
      "waits for a retry",
      "ran",
      "skipped or missed",
      "dead",
      "cancelled",
    ]);
    await filter.selectOption("ran");
    await page.waitForURL(/state=succeeded/);
    await page.locator("td.state").first().waitFor();
    expect(new Set(await page.locator("td.state").allInnerTexts())).toEqual(new Set(["ran"]));
    await tab.close();
  });

  test.each([390, 1_440])(
    "A row of a job has its state on one line, two lines for its error, and says when it was on time, at %i px",
    async (width) => {
      const tab = await browser.tab({ width });
      const { page } = tab;
      // An error as long as that of a function that is gone, of a job that waits for a retry.
      await page.route("**/v1/jobs?*", async (route) => {
        const answer = await route.fetch();
        const json = await answer.json();
        const items = json.items.map((item: object, n: number) => ({
          ...item,
          state: "retrying",
          error:
            "ResourceNotFoundException: The function arn:aws:lambda:eu-central-1:123456789012:function:sync is gone. ".repeat(
              3,
            ),
          latenessMs: [null, 20, 5_000][n % 3],
        }));
        await route.fulfill({ response: answer, json: { ...json, items } });
      });
      await tab.open("/jobs?state=dead");
      const rows = page.locator("main tr[data-row]");
      const heightOf = async (selector: string) =>
        (await rows.first().locator(selector).boundingBox())?.height;
      expect(await heightOf(".outcome-word")).toBeLessThan(30);
      const mark = await rows.first().locator(".outcome-word svg").boundingBox();
      expect(mark?.width).toBe(8);
      const why = (await heightOf(".cause > span")) ?? 0;
      expect(why).toBeGreaterThan(30);
      expect(why).toBeLessThan(50);
      const late = await rows.locator(".late").allInnerTexts();
      expect(late.slice(0, 3)).toEqual(["–", "on time", "5.0 s"]);
      expect(await rows.locator(".late").first().isVisible()).toBe(width > 900);
      expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
      await tab.close();
    },
  );

  test("A link to an error that no dead job has says so in words", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/jobs?state=dead&errorGroup=ee1f1191d592");
    await page.getByText("No job of this error is dead any more.").waitFor();
    const chips = page.getByRole("list", { name: "Further filters" });
    expect(await chips.textContent()).toBe("error group that no listed job hasdrop");
    await tab.close();
  });

  test("The counts of retried jobs call skipped ones as the filter by state does", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await page.route("**/v1/jobs:states?*", (route) =>
      route.fulfill({
        json: {
          count: 3,
          more: false,
          states: { waiting: 0, running: 0, retrying: 0, succeeded: 1, skipped: 2, dead: 0, cancelled: 0 },
        },
      }),
    );
    await tab.open("/jobs?entry=999999");
    await page.getByRole("link", { name: "2 skipped or missed" }).click();
    await page.waitForURL(/state=skipped/);
    expect(await page.getByLabel("State").locator("option:checked").innerText()).toBe("skipped or missed");
    await tab.close();
  });

  test("A fault of a filter names its field as the page does", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/jobs?lateBy=soon");
    await page.getByText(/^“Late by at least” takes a duration/).waitFor();
    await page.goto(`${own.url}/jobs?from=2026-03-29T00:00:00.000Z&to=2026-03-28T00:00:00.000Z`);
    await page.getByText("“To” must lie after “From”.").waitFor();
    await tab.close();
  });

  test("No word of an error is broken on a phone", async () => {
    const tab = await browser.tab({ width: 390 });
    const { page } = tab;
    await page.route("**/v1/jobs:groups?*", async (route) => {
      const answer = await route.fetch();
      const json = await answer.json();
      const items = json.items.map((item: object) => ({
        ...item,
        count: 12_113,
        error: "ResourceNotFoundException: gone",
      }));
      await route.fulfill({ response: answer, json: { ...json, items } });
    });
    await tab.open("/jobs?state=dead");
    const words = await page.locator(".groups li p").first().boundingBox();
    // The long word has 186 px.
    expect(words?.width).toBeGreaterThan(220);
    const count = await page.locator(".groups li b").first().boundingBox();
    expect((count?.x ?? 0) + (count?.width ?? 0)).toBeLessThan(words?.x ?? 0);
    expect([...(await textFaults(page)), ...(await axeFaults(page)), ...tab.faults]).toEqual([]);
    await tab.close();
  });

  test("An error leads to the failing schedules of its target, and says that they may have other errors", async () => {
    const [first] = (await own.client.jobs.groups()).items;
    const tab = await browser.tab();
    await tab.open("/jobs?state=dead");
    await tab.page
      .locator(".groups")
      .getByRole("link", { name: "Failing schedules of this target, with any error" })
      .first()
      .click();
    await tab.page.getByRole("heading", { name: "Schedules" }).waitFor();
    const search = new URL(tab.page.url()).searchParams;
    expect([search.get("target"), search.get("failing")]).toEqual([first?.target, "true"]);
    await tab.close();
  });

  test("The dialog of a retry leads on to the retried jobs", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/jobs?state=dead&prefix=hooks:");
    await page.getByRole("button", { name: "Retry all that match …" }).click();
    await page.getByRole("button", { name: /^Retry \d+ jobs?$/ }).click();
    await page
      .getByRole("alertdialog")
      .getByRole("link", { name: /^What became of/ })
      .click();
    await page.getByRole("button", { name: "Retry all that match …" }).waitFor({ state: "detached" });
    const entry = new URL(page.url()).searchParams.get("entry") ?? "";
    expect((await own.client.jobs.states([entry])).count).toBeGreaterThan(0);
    const chips = page.getByRole("list", { name: "Further filters" });
    await chips.getByRole("link", { name: /^retried by ops at \d\d:\d\d$/ }).waitFor();
    expect(await textFaults(page)).toEqual([]);
    await chips.getByRole("link").click();
    await page.getByRole("heading", { name: "Audit" }).waitFor();
    await page.locator(".audit li", { hasText: "retried jobs of" }).first().waitFor();
    expect(new URL(page.url()).searchParams.get("action")).toBe("jobs.retried");
    await page.goto(`${own.url}/jobs?entry=999999`);
    await chips.getByText("jobs that were retried or cancelled by entry 999999 of the audit").waitFor();
    await page.getByRole("link", { name: "Schedules", exact: true }).click();
    await page.getByRole("heading", { name: "Schedules" }).waitFor();
    await tab.close();
  });
});
