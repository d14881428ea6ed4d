import { describe, expect, test } from "vitest";
import { chromium } from "../../support/chromium.ts";
import type { OwnBrowser } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import { type OwnPage, ownPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

const start = "2026-03-02T08:00:00Z";
/** Two of these pages have no group of the team. */
const foreign = 4_500;

/** Very many groups of one schedule, one of 120, and behind them all one of a team. */
async function groupedPage(): Promise<OwnPage> {
  const own = await ownPage(start);
  const { sql } = own.world;
  const columns = sql`id, shard, queue, key, group_key, target_kind, created_at, created_by, updated_at, updated_by`;
  const rest = sql`'queue', carillon.clock(), 'test', carillon.clock(), 'test'`;
  await sql`
    insert into carillon.schedules (${columns})
    select 1000 + n, n % 16, 'fast', 'order:' || n || ':unpaid', 'order:' || to_char(n, 'FM00000'), ${rest} from generate_series(1, ${foreign}::int) n`;
  await own.client.batch(
    Array.from({ length: 120 }, (_, n) => ({
      put: {
        key: `crm:contact:${String(n).padStart(3, "0")}`,
        when: "0 9 * * *",
        target: { queue: "demo" },
        group: "crm:account:7",
      },
    })),
  );
  await own.client.schedules.put("team:nightly", {
    when: "0 3 * * *",
    target: { queue: "demo" },
    group: "z-team",
  });
  return own;
}

describe.runIf(chromium !== undefined)("the list of groups (needs Chromium)", () => {
  let own: OwnPage;
  let browser: OwnBrowser;

  withBrowser(groupedPage, (opened) => {
    ({ own, browser } = opened);
  });

  test("A group is found in the list by the beginning of its name, and opened from there", async () => {
    const tab = await browser.tab();
    const { page } = tab;
    await tab.open("/");
    await page.getByRole("button", { name: "More" }).click();
    await page.locator(".more-list").getByRole("link", { name: "Groups" }).click();
    const rows = page.locator("tr[data-row]");
    await rows.filter({ hasText: "crm:account:7" }).getByText("100+ schedules").waitFor();
    await page.getByLabel("Name begins with").fill("order:01");
    await rows.filter({ hasText: "order:01000" }).getByText("1 schedule", { exact: true }).waitFor();
    expect(new URL(page.url()).searchParams.get("prefix")).toBe("order:01");
    await page.getByRole("link", { name: "order:01000" }).click();
    await page.getByRole("heading", { name: "Group order:01000" }).waitFor();
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("The list of groups is reached from the palette", async () => {
    const tab = await browser.tab();
    await tab.open("/");
    await tab.page.keyboard.press("Control+k");
    await tab.page.keyboard.type("groups");
    await tab.page.getByRole("option", { name: "view Groups" }).waitFor();
    await tab.page.keyboard.press("Enter");
    await tab.page.getByRole("table", { name: "Groups" }).waitFor();
    await tab.close();
  });

  test("A team finds its group behind pages without any group of it", async () => {
    const { token } = await own.client.tokens.create({ name: "team", scope: "read", prefix: "team:" });
    const tab = await browser.tab({ token });
    await tab.open("/groups");
    await tab.page.locator("tr[data-row]").filter({ hasText: "z-team" }).waitFor();
    expect(await tab.page.locator("tr[data-row]").count()).toBe(1);
    await tab.close();
  });

  test("A name that no group begins with leaves an empty list that says so", async () => {
    const tab = await browser.tab();
    await tab.open("/groups?prefix=nothing");
    await tab.page.getByText("No group begins with that.").waitFor();
    await tab.close();
  });

  test.each([
    { width: 390, theme: "light" },
    { width: 390, theme: "dark" },
    { width: 1_440, theme: "light" },
    { width: 1_440, theme: "dark" },
  ] as const)("The list of groups can be read at $width px in the $theme theme", async (look) => {
    const tab = await browser.tab(look);
    await tab.open("/groups");
    await tab.page.locator("tr[data-row]").first().waitFor();
    expect([...(await textFaults(tab.page)), ...(await axeFaults(tab.page)), ...tab.faults]).toEqual([]);
    await tab.close();
  });

  test("The requests of the list of groups are those of the API's document", () => {
    expect(own.contradictions).toEqual([]);
  });
});
