import { expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../lib/job/main.ts";
import { kit } from "./kit.ts";

const now = "2027-03-27T12:00:00Z";

test("Ticks that are missing for two hours leave an outage, and its occurrences run or are missed as catchUp says", async () => {
  await using carillon = await kit({ now });
  for (const policy of ["all", "latest", "skip"] as const)
    await carillon.put(policy, {
      when: "every 30m",
      startsAt: "2027-03-27T12:10:00Z",
      target: { queue: "demo" },
      catchUp: { policy },
    });
  await carillon.advance("1h");
  await carillon.ticksMissing("2h");
  await carillon.advance("3h");
  const ran = (key: string) => carillon.jobs(key).filter(({ state }) => state === "succeeded").length;
  expect({ all: ran("all"), latest: ran("latest"), skip: ran("skip") }).toEqual({
    all: 8,
    latest: 5,
    skip: 4,
  });
  const { items } = await carillon.client.outages({}).page();
  expect(items).toMatchObject([
    { what: "tick", from: "2027-03-27T13:00:00.000Z", to: "2027-03-27T15:00:00.000Z" },
  ]);
  expect(await carillon.explain("skip", "2027-03-27T14:10:00Z")).toMatchObject({ outcome: "skipped" });
});

test("A lost message is sent again by a later tick, and one that comes twice makes one delivery", async () => {
  await using carillon = await kit({ now });
  await carillon.put("lost", { when: "at 2027-03-27T12:30:00Z", target: { queue: "demo" } });
  carillon.queueLoses();
  await carillon.advance("1h");
  expect(carillon.jobs("lost")).toMatchObject([
    { state: "succeeded", startedAt: "2027-03-27T12:31:00.000Z" },
  ]);
  await carillon.put("twice", { when: "at 2027-03-27T13:30:00Z", target: { queue: "demo" } });
  carillon.queueDuplicates();
  await carillon.advance("1h");
  expect(carillon.deliveries("twice")).toHaveLength(1);
});

test("A worker that dies after its delivery delivers again with the same id, and the job is one", async () => {
  await using carillon = await kit({ now });
  await carillon.put("once", {
    when: "at 2027-03-27T12:30:00Z",
    target: { webhook: { url: "https://example.com/in" } },
  });
  carillon.workerDies();
  await carillon.advance("2h");
  const sent = carillon.deliveries("once");
  expect(sent).toHaveLength(2);
  expect(new Set(sent.map(({ message }) => message.id)).size).toBe(1);
  expect(sent[0]?.headers?.["webhook-id"]).toBe(sent[1]?.headers?.["webhook-id"]);
  expect(carillon.jobs("once")).toMatchObject([{ state: "succeeded", attempts: 2 }]);
  expect(carillon.runs("once").map(({ outcome }) => outcome)).toEqual(["worker-died", "succeeded"]);
});

test("A restart of the database between delivery and settlement loses nothing and repeats no handler's write", async () => {
  const count = defineJob({
    name: "count",
    payload: z.null(),
    run: async (_job, { sql }) => void (await sql`insert into public.counted values (1)`),
  });
  await using carillon = await kit({ now, handlers: [count] });
  await carillon.put("setup", { when: "in 1m", target: { handler: "count" } });
  carillon.failNext("setup");
  await carillon.advance("1m");
  await carillon.put("a", { when: "every 10m", target: { queue: "demo" } });
  carillon.databaseRestarts();
  await carillon.advance("1h");
  const jobs = carillon.jobs("a");
  expect(jobs.filter(({ state }) => state === "succeeded")).toHaveLength(jobs.length);
});

test("A handler that takes longer than its timeout has failed, and a shorter one finishes later by its time", async () => {
  const slow = defineJob({ name: "slow", payload: z.null(), transaction: false, run: async () => {} });
  await using carillon = await kit({ now, handlers: [slow] });
  for (const [key, timeout] of [
    ["short", "30s"],
    ["long", "5m"],
  ] as const)
    await carillon.put(key, {
      when: "at 2027-03-27T12:30:00Z",
      target: { handler: "slow" },
      timeout,
      retry: { attempts: 1 },
    });
  carillon.handlerTakes("90s");
  await carillon.advance("1h");
  expect(carillon.jobs("short")).toMatchObject([{ state: "dead", finishedAt: "2027-03-27T12:30:30.000Z" }]);
  expect(carillon.jobs("long")).toMatchObject([
    { state: "succeeded", finishedAt: "2027-03-27T12:31:30.000Z" },
  ]);
});

test("A handler that hangs is named, instead of a test that runs out of time without a reason", async () => {
  const hangs = defineJob({
    name: "hangs",
    payload: z.null(),
    transaction: false,
    run: () => new Promise<void>(() => {}),
  });
  await using carillon = await kit({ now, handlers: [hangs] });
  await carillon.put("stuck", { when: "in 1m", target: { handler: "hangs" } });
  await expect(carillon.advance("1h")).rejects.toThrow("Still running after 4 s: the handler hangs.");
});

test("A count that is no whole number from 0 on is refused with the name of the fault", async () => {
  await using carillon = await kit({ now });
  expect(() => carillon.queueLoses(-1)).toThrow("queueLoses takes a whole number from 0 on, not -1.");
  expect(() => carillon.queueDuplicates(0.5)).toThrow("queueDuplicates takes a whole number");
  expect(() => carillon.workerDies(Number.NaN)).toThrow("workerDies takes a whole number");
  expect(() => carillon.failNext("one", { times: -2 })).toThrow("failNext takes a whole number");
});

test("A failure of no attempts changes nothing", async () => {
  await using carillon = await kit({ now });
  await carillon.put("one", { when: "in 1m", target: { queue: "demo" } });
  carillon.failNext("one", { times: 0 });
  await carillon.advance("2m");
  expect(carillon.runs("one")).toMatchObject([{ outcome: "succeeded" }]);
});

test("failNext of a key that no schedule has or had is refused when the clock advances", async () => {
  await using carillon = await kit({ now });
  carillon.failNext("nosuch");
  await expect(carillon.advance("1m")).rejects.toThrow(
    'failNext("nosuch") never has an effect: there is no schedule with this key, and there was none.',
  );
  await carillon.put("nosuch", { when: "in 1m", target: { queue: "demo" } });
  await carillon.advance("1s");
  await carillon.delete("nosuch");
  await carillon.advance("3d");
});
