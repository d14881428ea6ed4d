import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { claimCompany, claimTogether } from "../../lib/parcel/claim-together.ts";
import type { ClaimedJob } from "../../lib/parcel/claimed-job.ts";
import { readPage } from "../../lib/parcel/heavy-payloads.ts";
import { claimedBeforeOthers, settleAlone } from "../parcel/limit-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { due } from "../support/parcels.ts";

/**
 * A parcel may have 250 jobs, each with a payload of up to 240 KB: more than a worker with several
 * of them has memory for.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const kilobyte = 1_024;
const megabyte = 1_024 * kilobyte;
const text = (index: number, bytes: number) => String(index).repeat(bytes);

/** Schedules that are due together, each in a parcel of its own. */
async function parcels(payloads: readonly unknown[]): Promise<string[]> {
  for (const [index, payload] of payloads.entries())
    await world.put(`job-${index}`, { when: `at ${due.toISOString()}`, payload });
  await world.sql`update carillon.schedules set shard = substring(key from 5)::int`;
  await world.sql`update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
  await world.tick();
  await world.clock.setNow(due);
  const rows = await world.sql<{ id: string }[]>`select id from carillon.parcels order by shard`;
  return rows.map(({ id }) => id);
}

async function claimEach(ids: readonly string[]): Promise<Map<string, ClaimedParcel>> {
  const claims = await Promise.all(ids.map((id) => claimParcel(world.sql, id, minute)));
  return new Map(
    claims.flatMap((claim) => (claim.outcome === "claimed" ? [[claim.id, claim] as const] : [])),
  );
}

const readAll = (jobs: readonly ClaimedJob[]) => readPage(world.sql, jobs, megabyte);

test.each([
  ["several parcels", (ids: readonly string[]) => claimTogether(world.sql, ids, minute)],
  ["one parcel", claimEach],
])("a claim of %s brings no large payload, compressed by Postgres or not", async (_, claim) => {
  const incompressible = Array.from({ length: 900 }, (_, index) => (index * 7_919).toString(36)).join("-");
  const payloads = [
    1,
    text(1, 200 * kilobyte),
    { list: [incompressible, incompressible.slice(0, 4_500)] },
    text(2, 3 * kilobyte),
  ];
  const ids = await parcels(payloads);
  const claimed = await claim(ids);
  const light = ids.flatMap((id) => claimed.get(id)?.jobs ?? []);
  expect(Buffer.byteLength(JSON.stringify(light))).toBeLessThan(16 * kilobyte);
  expect(light.map(({ isHeavy }) => isHeavy)).toEqual([undefined, true, true, true]);
  const whole = await readAll(light);
  expect(whole.map(({ payload }, index) => isDeepStrictEqual(payload, payloads[index]))).toEqual(
    Array(4).fill(true),
  );
  expect(whole.map(({ isHeavy }) => isHeavy)).toEqual(Array(4).fill(undefined));
});

test("a claim of a company brings no large payload", async () => {
  await settleAlone(world, await claimedBeforeOthers(world, 4));
  await world.sql`update carillon.schedule_versions set payload = to_jsonb(repeat('x', ${200 * kilobyte}))`;
  await world.clock.setNow(at(minute + second));
  const [first] = await world.sql<
    { id: string }[]
  >`select id from carillon.parcels where turn = 'granted' limit 1`;
  const head = await claimParcel(world.sql, first?.id ?? "", minute, 1);
  if (head.outcome !== "claimed") throw new Error(`The parcel is ${head.outcome}.`);
  const company = await claimCompany(world.sql, head, minute);
  const jobs = company.flatMap((parcel) => parcel.jobs);
  expect(jobs.length).toBeGreaterThan(10);
  expect(jobs.every(({ payload, isHeavy }) => payload === null && isHeavy === true)).toBe(true);
});

test("a payload that is read after the claim is the job's own, or else that of the claimed version", async () => {
  const [id = "", other = ""] = await parcels([text(1, 20 * kilobyte), text(2, 20 * kilobyte)]);
  await world.sql`update carillon.jobs set payload = ${world.sql.json(text(3, 20 * kilobyte))} where parcel_id = ${other}`;
  const claimed = await claimTogether(world.sql, [id, other], minute);
  await world.pause("job-0");
  await world.patch("job-0", { payload: "edited" });
  const payloads = await Promise.all(
    [id, other].map(async (each) => (await readAll(claimed.get(each)?.jobs ?? []))[0]?.payload),
  );
  expect(payloads).toEqual([text(1, 20 * kilobyte), text(3, 20 * kilobyte)]);
});

test.each([
  ["as many bytes of heavy payloads as the limit allows", 425 * kilobyte, [3, 1, 3]],
  ["one heavy payload that exceeds the limit", 1, [2, 1, 1, 3]],
])("a page has the first jobs of a list, with %s", async (_, bytes, expected) => {
  const sizes = [200, 1, 200, 200, 230, 1, 1];
  const ids = await parcels(sizes.map((size, index) => text(index, size * kilobyte)));
  const claimed = await claimEach(ids);
  const jobs = ids.flatMap((id) => claimed.get(id)?.jobs ?? []);
  const pages: string[][] = [];
  for (let left = jobs; left.length > 0; ) {
    const page = await readPage(world.sql, left, bytes);
    expect(page.every(({ isHeavy }) => isHeavy === undefined)).toBe(true);
    pages.push(page.map(({ key }) => key));
    left = left.slice(page.length);
  }
  expect(pages.map((page) => page.length)).toEqual(expected);
  expect(pages.flat()).toEqual(jobs.map(({ key }) => key));
});

test("a job whose payload is gone stays heavy, and the other jobs are read", async () => {
  const ids = await parcels([text(1, 20 * kilobyte), text(2, 20 * kilobyte), text(3, 20 * kilobyte)]);
  const claimed = await claimEach(ids);
  const jobs = ids.flatMap((id) => claimed.get(id)?.jobs ?? []);
  const gone = jobs.map((job, index) => (index === 1 ? { ...job, scheduleId: "999" } : job));
  const page = await readAll(gone);
  expect(page.map(({ isHeavy }) => isHeavy === true)).toEqual([false, true, false]);
  expect(page.map(({ payload }) => payload === null)).toEqual([false, true, false]);
});
