import { expect, test } from "vitest";
import * as z from "zod";
import { again, defineJob, done } from "../../lib/job/main.ts";
import { kit } from "./kit.ts";

const now = "2027-03-27T12:00:00Z";

test("Thirty days of a daily schedule run once each, also on the day whose hour does not exist", async () => {
  const ran: string[] = [];
  const report = defineJob({
    name: "report",
    payload: z.null(),
    run: async ({ dueAt }) => void ran.push(dueAt.toISOString()),
  });
  await using carillon = await kit({ now, handlers: [report] });
  await carillon.put("report", {
    when: "30 2 * * *",
    timezone: "Europe/Berlin",
    target: { handler: "report" },
  });
  await carillon.advance("30d");
  const jobs = carillon.jobs("report");
  expect(jobs).toHaveLength(30);
  expect(
    jobs.filter(({ state, startedAt, dueAt }) => state === "succeeded" && startedAt === dueAt),
  ).toHaveLength(30);
  expect(jobs.slice(0, 2).map(({ dueAt }) => dueAt)).toEqual([
    "2027-03-28T01:00:00.000Z",
    "2027-03-29T00:30:00.000Z",
  ]);
  expect(ran).toEqual(jobs.map(({ dueAt }) => dueAt));
});

test("A job that is due at the end of the advance has run, and one a second later is not listed", async () => {
  await using carillon = await kit({ now });
  await carillon.put("on", { when: "at 2027-03-27T13:00:00Z", target: { queue: "demo" } });
  await carillon.put("after", { when: "at 2027-03-27T13:00:01Z", target: { queue: "demo" } });
  await carillon.advance("2027-03-27T13:00:00Z");
  expect(carillon.now().toISOString()).toBe("2027-03-27T13:00:00.000Z");
  expect(carillon.jobs().map(({ key, state }) => `${key} ${state}`)).toEqual(["on succeeded"]);
  expect(carillon.deliveries()).toMatchObject([
    { to: "queue", target: "demo", key: "on", at: "2027-03-27T13:00:00.000Z" },
  ]);
  await carillon.advance("1s");
  expect(carillon.deliveries().map(({ key }) => key)).toEqual(["on", "after"]);
});

test("A retry comes at the end of its backoff, and after the last attempt the job is dead with its error", async () => {
  await using carillon = await kit({ now });
  await carillon.put("hook", {
    when: "at 2027-03-27T12:10:00Z",
    target: { webhook: { url: "https://example.com/in" } },
    retry: { attempts: 3, backoff: "fixed", base: "5m", jitter: "none" },
  });
  carillon.failNext("hook", { error: "HTTP 503", times: 3 });
  await carillon.advance("1h");
  expect(carillon.runs("hook").map(({ at, outcome }) => `${at.slice(11, 16)} ${outcome}`)).toEqual([
    "12:10 failed",
    "12:15 failed",
    "12:20 failed",
  ]);
  expect(carillon.jobs("hook")).toMatchObject([
    { state: "dead", reason: "attempts", attempts: 3, error: "HTTP 503" },
  ]);
  expect(carillon.deliveries()).toEqual([]);
  expect(carillon.notices()).toMatchObject([{ detailType: "carillon.job.dead" }]);
});

test("A job has the state that the API says while it waits for its next attempt, while it runs, and after its end", async () => {
  const slow = defineJob({ name: "slow", payload: z.null(), run: async () => {} });
  await using carillon = await kit({ now, handlers: [slow] });
  await carillon.put("slow", {
    when: "at 2027-03-27T12:10:00Z",
    target: { handler: "slow" },
    timeout: "5m",
    retry: { backoff: "fixed", base: "10m" },
  });
  carillon.failNext("slow");
  carillon.handlerTakes("90s");
  const seen = [];
  for (const until of ["12:11:00", "12:20:30", "12:25:00"]) {
    await carillon.advance(`2027-03-27T${until}Z`);
    const own = carillon.jobs().map(({ key, state }) => `${key} ${state}`);
    const { items } = await carillon.client.jobs.list({ upcoming: false }).page();
    expect(own).toEqual(items.map(({ key, state }) => `${key} ${state}`));
    seen.push(own);
  }
  expect(seen).toEqual([["slow retrying"], ["slow running"], ["slow succeeded"]]);
});

test("A handler that asks for rechecks gets them at their times, and its own writes stay", async () => {
  const order = defineJob({
    name: "order",
    payload: z.object({ order: z.int() }),
    maxChecks: 5,
    run: async ({ checks, payload }, { sql }) => {
      await sql`create table if not exists public.seen (payload int, checks int)`;
      await sql`insert into public.seen values (${payload.order}, ${checks})`;
      return checks < 2 ? again("30m") : done;
    },
  });
  await using carillon = await kit({ now, handlers: [order] });
  await carillon.put("order:7", { when: "in 1h", target: { handler: "order" }, payload: { order: 7 } });
  await carillon.advance("3h");
  expect(carillon.jobs("order:7").map(({ kind, dueAt }) => `${kind} ${dueAt.slice(11, 16)}`)).toEqual([
    "cadence 13:00",
    "again 13:30",
    "again 14:00",
  ]);
});

test("A hold keeps a schedule until it ends, and an explanation says so", async () => {
  await using carillon = await kit({ now });
  await carillon.put("poll", {
    when: "*/10 * * * *",
    target: { queue: "demo" },
    catchUp: { policy: "skip" },
  });
  await carillon.pause("poll", { until: "2027-03-27T13:05:00Z", reason: "the partner moves" });
  await carillon.advance("90m");
  expect(carillon.deliveries("poll").map(({ at }) => at.slice(11, 16))).toEqual(["13:10", "13:20", "13:30"]);
  expect(await carillon.explain("poll", "2027-03-27T12:30:00Z")).toMatchObject({ outcome: "skipped" });
});

test("The jobs of a long time are listed whole, also those that the retention has dropped", async () => {
  await using carillon = await kit({ now });
  await carillon.put("often", { when: "every 12h", target: { queue: "demo" } });
  await carillon.advance("35d");
  expect(carillon.jobs("often")).toHaveLength(70);
  const kept: string[] = [];
  for await (const { id } of carillon.client.jobs.list({ key: "often" })) kept.push(id);
  expect(kept.length).toBeLessThan(66);
  expect(carillon.jobs("often").map(({ id }) => id)).toEqual(expect.arrayContaining(kept));
});

test("Edits, faults of a request and searches go through the API of the deployment", async () => {
  await using carillon = await kit({ now });
  await carillon.put("a", { when: "every 1h", target: { queue: "demo" }, tags: ["x"] });
  await expect(carillon.put("b", { when: "every 1x", target: { queue: "demo" } })).rejects.toMatchObject({
    status: 400,
  });
  await expect(carillon.put("c", { when: "every 1h", target: { handler: "none" } })).rejects.toThrow(
    "target.handler is not the name of a handler",
  );
  const found: string[] = [];
  for await (const { key } of carillon.client.schedules.list({ tag: "x" })) found.push(key);
  expect(found).toEqual(["a"]);
});

test("The clock does not go back, and a text that is neither a duration nor an instant is named", async () => {
  await using carillon = await kit({ now });
  await expect(carillon.advance("2027-03-27T11:59:59Z")).rejects.toThrow("does not go back");
  await expect(carillon.advance("soon")).rejects.toThrow('"soon" is neither an instant');
  await expect(carillon.advance("2027-03-28T00:00:00")).rejects.toThrow("names no zone");
});
