import { expect, test } from "vitest";
import type { Sql } from "../../lib/db/connect.ts";
import { countedMax, groupsLookedMax, listGroups } from "../../lib/history/groups/list-groups.ts";
import { describePlans } from "../support/describe-plans.ts";
import { touched } from "../support/touched.ts";

/** Before and behind the others by name; each has half of the schedules. */
const large = ["a-large", "z-large"];
const small = 5_000;

/**
 * 60,000 schedules in two groups, 5,000 groups of one schedule, and one schedule of a team in the last group. The
 * schedule of another prefix has no team yet.
 */
async function fill(sql: Sql): Promise<void> {
  const columns = sql`id, shard, queue, key, group_key, target_kind, created_at, created_by, updated_at, updated_by`;
  const rest = sql`'queue', now(), 'test', now(), 'test'`;
  await sql`
    insert into carillon.schedules (${columns})
    select n, n % 16, 'fast', 'big:' || n, case when n % 2 = 0 then ${large[0] ?? ""} else ${large[1] ?? ""} end, ${rest} from generate_series(1, 60000) n`;
  await sql`
    insert into carillon.schedules (${columns})
    select 100000 + n, n % 16, 'fast', 'small:' || n, 'g-' || n, ${rest} from generate_series(1, ${small}::int) n`;
  await sql`
    insert into carillon.teams (id, prefix, created_at, assigned_at) overriding system value values (1, 'team:', now(), now())`;
  await sql`
    insert into carillon.schedules (${columns}, team_id) select 200000, 0, 'fast', 'team:1', ${large[1] ?? ""}, ${rest}, 1`;
  await sql`
    insert into carillon.schedules (${columns}) select 200001, 0, 'fast', 'late:1', ${large[1] ?? ""}, ${rest}`;
}

describePlans("the list of very many groups", fill, (filled) => {
  async function readIn(params: Parameters<typeof listGroups>[1], indexes = ["schedules_group"]) {
    let found: Awaited<ReturnType<typeof listGroups>> = { items: [] };
    const { scanned, index } = await touched(filled.sql, async () => {
      found = await listGroups(filled.sql, params);
    });
    expect(scanned).toEqual({});
    expect(Object.keys(index).toSorted()).toEqual(indexes);
    return { ...found, read: Object.values(index).reduce((sum, each) => sum + each, 0) };
  }

  test("A page of groups reads up to a hundred members of each, however many it has", async () => {
    const first = await readIn({ filter: {}, limit: 2 });
    expect(first.items).toMatchObject([
      { name: "a-large", schedules: countedMax, more: true },
      { name: "g-1", schedules: 1, more: false },
    ]);
    expect(first.read).toBeLessThan(countedMax + 10);
    const last = await readIn({ filter: { prefix: "z" }, limit: 100 });
    expect(last.items).toEqual([{ name: "z-large", schedules: countedMax, more: true, sample: "big:1" }]);
    expect(last.next).toBeUndefined();
    expect(last.read).toBeLessThan(countedMax + 10);
  });

  test("A page in the middle of the groups reads no more than the first", async () => {
    const { items, next, read } = await readIn({ filter: {}, after: "g-300", limit: 100 });
    expect(items).toHaveLength(100);
    expect(next).toBe(items.at(-1)?.name);
    expect(read).toBeLessThan(3 * 100);
  });

  test("A team finds its one group in one page, whatever number of groups others have", async () => {
    const { items, next, read } = await readIn({ filter: { keys: "team:" }, limit: 50 }, [
      "schedules_group",
      "schedules_team_groups",
      "teams_prefix",
    ]);
    expect(items).toEqual([{ name: "z-large", schedules: 1, more: false, sample: "team:1" }]);
    expect(next).toBeUndefined();
    expect(read).toBeLessThan(10);
  });

  test("A prefix without a team finds its one group in pages that look at a bounded number", async () => {
    const pages: string[][] = [];
    let after: string | undefined;
    do {
      const { items, next, read } = await readIn({ filter: { keys: "late:" }, after, limit: 50 }, [
        "schedules_group",
        "teams_prefix",
      ]);
      expect(read).toBeLessThan(groupsLookedMax + 10);
      pages.push(items.map(({ name }) => name));
      after = next;
    } while (after !== undefined);
    expect(pages).toEqual([[], [], ["z-large"]]);
  });
});
