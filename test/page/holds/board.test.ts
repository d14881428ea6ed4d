import { describe, expect, test } from "vitest";
import type { BoardHold } from "../../../lib/client/holds.ts";
import { type HoldRow, holdRows } from "../../../lib/page/views/holds/hold-groups.ts";
import { chromium } from "../../support/chromium.ts";
import { hour } from "../../support/instants.ts";
import type { OwnBrowser } from "../browser.ts";
import { axeFaults, textFaults } from "../look-faults.ts";
import { type OwnPage, ownPage } from "../own-page.ts";
import { withBrowser } from "../with-browser.ts";

const second = (n: number) => `2026-03-02T10:00:${String(n).padStart(2, "0")}.000Z`;

const hold = (name: string, more: Partial<BoardHold> = {}): BoardHold => ({
  ...{ scope: "schedule", name, owner: "ops", prefix: null, reason: "a move", since: second(0), until: null },
  ...{ secondsLeft: null, members: 1, state: "binding", endedAt: null, endedBy: null },
  ...{ reach: "", releasable: true },
  ...more,
});

const all = { hasMore: false, open: new Set<string>() };

/** The key of a hold, or the prefix and the number of members of a group. */
const short = (rows: readonly HoldRow[]) =>
  rows.map((row) =>
    "group" in row
      ? `${row.group.prefix}* ${row.group.members.length}${row.group.hasMore ? "+" : ""}`
      : row.hold.name,
  );

describe("the rows of the board", () => {
  test("Holds that were set together are one row, at the place of the first", () => {
    const holds = [hold("crm:1"), hold("other", { owner: "eve" }), hold("crm:2", { since: second(40) })];
    expect(short(holdRows(holds, all))).toEqual(["crm:* 2", "other"]);
  });

  test("Holds with another owner, reason, end or beginning are rows of their own", () => {
    const holds = [
      hold("a"),
      hold("b", { owner: "eve" }),
      hold("c", { reason: null }),
      hold("d", { until: second(30) }),
      hold("e", { since: "2026-03-02T10:02:00.000Z" }),
      hold("f", { scope: "group" }),
      hold("g", { state: "ended", endedAt: second(50) }),
    ];
    expect(short(holdRows(holds, all))).toEqual(["a", "b", "c", "d", "e", "f", "g"]);
  });

  test("An action that took longer than the gap is still one row", () => {
    const since = (n: number) => ({ since: new Date(Date.parse(second(0)) + n * 50_000).toISOString() });
    const holds = [2, 0, 3, 1].map((n) => hold(`crm:${n}`, since(n)));
    expect(short(holdRows(holds, all))).toEqual(["crm:* 4"]);
  });

  test("A row of holds stays the same row when its first hold is released", () => {
    const holds = [hold("crm:1"), hold("crm:2", { since: second(1) }), hold("crm:3", { since: second(2) })];
    const idOf = ([row]: readonly HoldRow[]) => (row !== undefined && "group" in row ? row.group.id : "none");
    expect(idOf(holdRows(holds.slice(1), all))).toBe(idOf(holdRows(holds, all)));
  });

  test("The count says that it may grow while holds with the same end are not loaded", () => {
    const early = { until: second(30) };
    const holds = [hold("a:1", early), hold("a:2", early), hold("b:1"), hold("b:2")];
    expect(short(holdRows(holds, { ...all, hasMore: true }))).toEqual(["a:* 2", "b:* 2+"]);
  });

  test("The members of an open group are rows behind it", () => {
    const holds = [hold("crm:1"), hold("other", { owner: "eve" }), hold("crm:2")];
    const [row] = holdRows(holds, all);
    const open = new Set(row !== undefined && "group" in row ? [row.group.id] : []);
    expect(short(holdRows(holds, { ...all, open }))).toEqual(["crm:* 2", "crm:1", "crm:2", "other"]);
  });
});

describe.runIf(chromium !== undefined)("the board of holds (needs Chromium)", () => {
  let browser: OwnBrowser;

  withBrowser(held, (opened) => {
    ({ browser } = opened);
  });

  async function held(): Promise<OwnPage> {
    const page = await ownPage("2026-03-02T10:00:00.000Z");
    const later = { when: "0 9 * * *", target: { queue: "crm" } };
    await page.client.batch(
      Array.from({ length: 130 }, (_, n) => ({
        put: { key: `crm:contact:${String(n).padStart(4, "0")}`, ...later },
      })),
    );
    await page.client.batch([{ put: { key: "export:warehouse", ...later } }]);
    await page.client.schedules.pause("export:warehouse", { reason: "waits for the new index" });
    const until = new Date(page.world.clock.now().getTime() + 3 * hour);
    await page.client.schedules.changeMany({
      verb: "pause",
      filter: { prefix: "crm:" },
      ...{ until: until.toISOString(), reason: "the move of the CRM" },
    });
    return page;
  }

  test.each([390, 1_024, 1_440])(
    "The list of schedules says until when one is held, at %i px",
    async (width) => {
      const tab = await browser.tab({ width });
      await tab.open("/schedules?prefix=crm:contact:0000");
      await tab.page.locator("td.next", { hasText: /^held until 14:\d\d Europe\/Berlin$/ }).waitFor();
      expect(await textFaults(tab.page)).toEqual([]);
      await tab.close();
    },
  );

  test.each([390, 1_440].flatMap((width) => (["light", "dark"] as const).map((theme) => ({ width, theme }))))(
    "A bulk hold is one row that unfolds, and can be read at $width px in the $theme theme",
    async (look) => {
      const tab = await browser.tab(look);
      await tab.open("/holds");
      const rows = tab.page.locator("main [data-row]");
      const bulk = rows.filter({ hasText: "crm:contact:0…" });
      await bulk.locator(".members", { hasText: /^130$/ }).waitFor();
      expect(await rows.count()).toBe(2);
      await bulk.getByRole("button", { name: /^Show the schedules/ }).click();
      await tab.page.getByRole("link", { name: "crm:contact:0000" }).waitFor();
      expect([...(await textFaults(tab.page)), ...(await axeFaults(tab.page)), ...tab.faults]).toEqual([]);
      await bulk.getByRole("button", { name: /^Show the schedules/ }).click();
      await tab.page.getByRole("link", { name: "crm:contact:0000" }).waitFor({ state: "detached" });
      await tab.close();
    },
  );
});
