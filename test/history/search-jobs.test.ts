import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countJobs } from "../../lib/history/jobs/count-jobs.ts";
import type { JobFilter } from "../../lib/history/jobs/job-rows.ts";
import { searchJobs } from "../../lib/history/jobs/search-jobs.ts";
import { type JobRead, readJobsAt } from "../../lib/job/read-job.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";

let world: Carillon;
let all: JobRead[];

beforeAll(async () => {
  world = await carillon();
  await world.tick();
  for (let n = 0; n < 36; n++)
    await world.put(`${"ab"[n % 2]}:${n}`, {
      when: n % 3 === 0 ? "every 30s" : n % 3 === 1 ? "*/5 * * * *" : "in 4m",
      target: n % 5 === 0 ? { handler: "h" } : { queue: `q${n % 2}` },
      group: n % 4 === 0 ? `g${n % 8}` : null,
      tags: n % 6 === 0 ? ["even"] : [],
      retry: { attempts: n % 7 === 0 ? 1 : 9, backoff: "fixed", base: "10m" },
    });
  world.outcome = ({ key }) => (/[0147]$/.test(key) ? failed("no") : { kind: "done" });
  for (let passed = 1; passed <= 13; passed++) {
    await world.clock.setNow(at(passed * minute));
    await world.tick();
    if (passed % 3 === 0) await world.work();
  }
  for (const key of ["a:2", "b:9", "a:4"]) await world.remove(key);
  await world.pause("a:6");
  const [parcel] = await world.sql<{ id: string }[]>`
    select id from carillon.parcels where ready_at <= carillon.clock() and lease_until is null order by id limit 1`;
  await claimParcel(world.sql, parcel?.id ?? "", 5 * minute);
  const keys = await world.sql<Parameters<typeof readJobsAt>[1][number][]>`
    select schedule_id as "scheduleId", occurrence, kind, n from carillon.jobs`;
  all = (await readJobsAt(world.sql, keys)).sort(
    (a, b) => Number(b.occurrence) - Number(a.occurrence) || Number(b.scheduleId) - Number(a.scheduleId),
  );
}, 120_000);

afterAll(() => world.stop());

async function isMeant(filter: JobFilter): Promise<(job: JobRead) => boolean> {
  const { prefix = "", group, tag, target, state, reason, lateBy, from, to } = filter;
  const rows = await world.sql<{ id: string; tags: string[]; name: string; kind: string }[]>`
    select s.id, s.tags, t.name, s.target_kind as kind from carillon.schedules s join carillon.targets t on t.id = s.target_id`;
  const heads = new Map(rows.map((row) => [row.id, row]));
  return (job) => {
    const head = heads.get(job.scheduleId);
    return (
      job.key.startsWith(prefix) &&
      (group === undefined || job.group === group) &&
      (tag === undefined || head?.tags.includes(tag) === true) &&
      (target === undefined || head?.name === target || head?.kind === target) &&
      (state === undefined || job.state === state) &&
      (reason === undefined || job.reason === reason) &&
      (lateBy === undefined || (job.latenessMs ?? 0) >= 60_000) &&
      (from === undefined || job.occurrence >= from) &&
      (to === undefined || job.occurrence < to)
    );
  };
}

async function pagesOf(filter: JobFilter, limit: number): Promise<string[]> {
  const ids: string[] = [];
  let before: Awaited<ReturnType<typeof searchJobs>>["next"];
  for (let page = 0; page < 1_000; page++) {
    const { items, next } = await searchJobs(world.sql, { filter, limit, before });
    expect(items.length).toBeLessThanOrEqual(limit);
    ids.push(...items.map(({ id }) => id));
    if (next === undefined) return ids;
    before = next;
  }
  throw new Error("The list does not end.");
}

const states = ["waiting", "running", "retrying", "succeeded", "skipped", "cancelled"] as const;

describe.each<JobFilter>([
  {},
  { prefix: "a:" },
  { prefix: "a:1" },
  { group: "g4" },
  { group: "g4", prefix: "b" },
  { tag: "even" },
  { target: "handler" },
  { target: "queue/q1" },
  { from: at(3 * minute), to: at(10 * minute) },
  { group: "g0", from: at(3 * minute), to: at(10 * minute) },
  { reason: "deleted" },
  { lateBy: "60s" },
  { lateBy: "1m", group: "g4" },
])("a search among the jobs of %o", (owners) => {
  test.each<JobFilter>([{}, ...states.map((state) => ({ state }))])(
    "The pages for %o hold all matching jobs, once and newest first, and a count has their number",
    async (rest) => {
      const filter = { ...owners, ...rest };
      const meant = all.filter(await isMeant(filter)).map(({ id }) => id);
      for (const limit of [7, 100]) expect(await pagesOf(filter, limit)).toEqual(meant);
      expect(await countJobs(world.sql, filter)).toEqual({ count: meant.length, more: false });
    },
  );
});

test.each([1, 2])(
  "A search in pages of %i comes to its end, also among jobs of one instant",
  async (limit) => {
    for (const filter of [{ prefix: "a:1" }, { group: "g4" }]) {
      const meant = all.filter(await isMeant(filter)).map(({ id }) => id);
      expect(new Set(meant.map((id) => id.split("-")[1])).size).toBeLessThan(meant.length);
      expect(await pagesOf(filter, limit)).toEqual(meant);
    }
  },
);

test("The test data has jobs in every state", () => {
  for (const state of [...states.filter((each) => each !== "skipped"), "dead"] as const)
    expect(all.filter((job) => job.state === state).length, state).toBeGreaterThan(0);
  const late = all.filter(({ latenessMs }) => (latenessMs ?? 0) >= 60_000).length;
  expect([late > 10, late < all.length - 10]).toEqual([true, true]);
});
