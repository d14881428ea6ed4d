import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import { noteDead } from "../../lib/ingest/dead-commands.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { readProblems } from "../../lib/problems/read-problems.ts";
import { setAside } from "../../lib/quarantine/quarantine.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, hour, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.tick();
});

afterEach(() => world.stop());

const problems = (prefix: string | null = null) => readProblems(world.as.api, prefix);
const kinds = async (prefix: string | null = null) =>
  (await problems(prefix)).problems.map(({ kind }) => kind);
/** A tick at least each minute, so that there is no outage. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= minute) {
    await world.clock.advance(Math.min(left, minute));
    await world.tick();
  }
}
const once = { retry: { attempts: 1 } };

describe("the verdict", () => {
  test("A deployment with a tick and idle workers is on time and has no problem", async () => {
    await world.put("later", { when: "in 1h" });
    expect(await problems()).toMatchObject({ verdict: "on-time", text: "On time.", problems: [] });
  });

  test("Without a tick for more than 150 seconds the verdict is stopped, and on time again after a tick", async () => {
    await world.clock.advance(151 * second);
    const stopped = await problems("team:");
    expect(stopped).toMatchObject({ verdict: "stopped", problems: [{ kind: "no-tick" }] });
    expect(stopped.text).toBe(
      "Stopped. No tick has ended since 2026-03-02T10:00:00Z. The plan reaches to 2026-03-02T10:03:00Z; after that no schedule becomes due.",
    );
    await world.tick();
    expect(await problems()).toMatchObject({ verdict: "on-time", problems: [{ kind: "outages" }] });
  });

  test("A shard whose plan is behind makes the verdict late, with the instant up to which it has made jobs", async () => {
    await world.sql`update carillon.shards set watermark_at = watermark_at - interval '5 minutes' where id = 3`;
    const { verdict, text, problems: found } = await problems();
    expect({ verdict, found }).toMatchObject({ verdict: "late", found: [{ kind: "plan-behind" }] });
    expect(text).toContain(
      "Late by 2 minutes. The slowest shard has made jobs only up to 2026-03-02T09:58:00Z",
    );
  });

  test("With jobs that are due for a minute and no claim or settle in two minutes the verdict is stopped", async () => {
    for (const key of ["a:1", "a:2", "b:1"]) await world.put(key, { when: "in 30s" });
    await pass(130 * second);
    const { verdict, problems: found } = await problems();
    expect(verdict).toBe("stopped");
    expect(found).toMatchObject([
      { kind: "no-worker", count: { count: 3 }, see: { path: "/v1/jobs", query: { state: "waiting" } } },
    ]);
    expect((await problems("a:")).problems).toMatchObject([
      {
        kind: "no-worker",
        count: { count: 2 },
        command: "carillon jobs --state waiting --to 2026-03-02T10:01:10Z --prefix a:",
      },
    ]);
    expect(await problems("c:")).toMatchObject({ verdict: "on-time", problems: [] });
  });

  test("Jobs of a queue without workers stop the verdict though a worker of the other queue has settled a job", async () => {
    await world.put("web", { when: "in 30s", target: { lambda: "demo" } });
    await world.put("sent", { when: "in 60s" });
    await world.tick();
    await pass(2 * minute);
    const [fast] = await world.sql<{ id: string }[]>`select id from carillon.parcels where queue = 'fast'`;
    const parcel = await claimParcel(world.as.worker, fast?.id ?? "", minute);
    if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
    await settleParcel(world.as.worker, parcel, [{ kind: "succeeded" }]);
    const { verdict, text, problems: found } = await problems();
    expect({ verdict, kinds: found.map(({ kind }) => kind) }).toEqual({
      verdict: "stopped",
      kinds: ["no-worker"],
    });
    expect(text).toContain("1 job is late in the slow queue");
  });

  test("A queue has workers while one of them has a parcel under its lease for long", async () => {
    await world.put("long", { when: "in 30s" });
    await world.put("next", { when: "in 4m" });
    await world.tick();
    await world.clock.advance(30 * second);
    const [first] = await world.sql<{ id: string }[]>`select id from carillon.parcels order by ready_at`;
    await claimParcel(world.as.worker, first?.id ?? "", hour);
    for (const _ of [1, 2]) {
      await pass(2 * minute + 20 * second);
    }
    await world.clock.advance(minute);
    await world.tick();
    expect(await kinds()).toEqual(["late-jobs"]);
  });

  test("With late jobs while workers settle others the verdict is late, with the time of the oldest", async () => {
    await world.put("a", { when: "in 30s" });
    await world.put("b", { when: "in 4m" });
    await pass(3 * minute);
    await world.sql`
      insert into carillon.parcel_times (occurrence, parcel_id, claimed_at, made_at, settled_at, queue)
      values (date_trunc('day', carillon.clock()), 1, carillon.clock(), carillon.clock(), carillon.clock(), 'fast')`;
    const { verdict, text, problems: found } = await problems();
    expect({ verdict, kinds: found.map(({ kind }) => kind) }).toEqual({
      verdict: "late",
      kinds: ["late-jobs"],
    });
    expect(text).toContain("Late by 2 minutes 30 seconds. 1 job is late in the fast queue");
  });

  test("Jobs that wait for their turn at a target are a problem of the target, and leave the verdict on time", async () => {
    await world.put("a", { when: "in 30s" });
    await pass(3 * minute);
    await world.sql`
      update carillon.parcels set turn = 'waits', turn_at = ready_at, ready_at = 'infinity',
        target_id = (select target_id from carillon.schedules where key = 'a')`;
    const { verdict, problems: found } = await problems();
    expect(verdict).toBe("on-time");
    expect(found).toMatchObject([
      { kind: "target-full", count: { count: 1 }, see: { query: { target: "queue/demo" } } },
    ]);
  });

  test("Jobs under a hold and jobs in a lane are not late", async () => {
    await world.put("held", { when: "in 30s" });
    await world.tick();
    await world.pause("held");
    await world.put("lane", { when: "every 10s", overlap: "queue" });
    await world.clock.advance(20 * second);
    await world.tick();
    await world.sql`update carillon.parcels set lane = 'x', ready_at = 'infinity' where held_schedule is null`;
    await pass(2 * minute);
    await world.sql`update carillon.parcels set lane = 'x', ready_at = 'infinity', lease_until = null, claimed_at = null
      where held_schedule is null and cardinality(occurrences) = 1`;
    await world.sql`delete from carillon.parcels where held_schedule is null and lane is null`;
    expect(await kinds()).toEqual([]);
  });
});

describe("the problems", () => {
  test("Dead jobs are grouped by target and error, with a sample that can be read and the filter that lists them", async () => {
    world.outcome = ({ key }) => failed(key === "a:2" ? "the second cause" : "no route to host 10.0.0.7");
    for (const key of ["a:1", "a:2", "b:1"]) await world.put(key, { when: "in 30s", ...once });
    await world.put("a:other", { when: "in 30s", ...once, target: { queue: "other" } });
    await world.clock.advance(31 * second);
    await world.work();
    const { verdict, problems: found } = await problems();
    expect(verdict).toBe("on-time");
    expect(found.map(({ kind, count, text }) => [kind, count.count, text])).toEqual([
      ["dead-jobs", 2, "2 jobs are dead at queue/demo: no route to host <ip>"],
      ["dead-jobs", 1, expect.stringContaining("1 job is dead at")],
      ["dead-jobs", 1, expect.stringContaining("1 job is dead at")],
    ]);
    const [first] = found;
    const group = first?.see.query["errorGroup"];
    expect(first).toMatchObject({
      see: { path: "/v1/jobs", query: { state: "dead", errorGroup: group } },
      command: `carillon jobs --state dead --error-group ${group}`,
      sample: expect.stringMatching(/^\d+-\d+-c0$/),
    });
    expect((await problems("b:")).problems).toMatchObject([
      { count: { count: 1 }, command: `carillon jobs --state dead --error-group ${group} --prefix b:` },
    ]);
  });

  test("Refused commands of both inboxes and rows in quarantine are counted, each for its own prefix", async () => {
    const dead = {
      messageId: "m",
      commandId: null,
      at: null,
      refusal: { kind: "invalid" as const, message: "no", faults: [] },
      command: {},
    };
    const both = [
      { ...dead, place: 0, key: "a:1" },
      { ...dead, place: 1, key: null },
    ];
    await noteDead(world.sql, both, null);
    await world.sql`
      insert into carillon.inbox_refusals (id, at, refused_at, caller, key, command, problem, faults)
      values (7, carillon.clock(), carillon.clock(), 'shop', 'a:1', '{}', 'no', '[]')`;
    await setAside(world.sql, "ended", [{ item: "7", error: new Error("no") }]);
    expect((await problems()).problems).toMatchObject([
      { kind: "dead-commands", count: { count: 2 }, command: "carillon commands ls" },
      { kind: "inbox-errors", count: { count: 1 }, sample: "7", command: "carillon inbox ls" },
      { kind: "quarantine", count: { count: 1 }, sample: "ended/7", command: "carillon quarantine" },
    ]);
    expect((await problems("a:")).problems).toMatchObject([
      { kind: "dead-commands", count: { count: 1 }, command: "carillon commands ls --prefix a:" },
      { kind: "inbox-errors", count: { count: 1 } },
    ]);
    expect(await kinds("b:")).toEqual([]);
  });

  test("Holds older than a day are counted, one of a group once, and those that ended are not", async () => {
    for (const key of ["a:1", "a:2", "b:1", "b:2"])
      await world.put(key, { when: "0 9 * * *", ...(key.startsWith("b") ? { group: "g" } : {}) });
    await world.pause("a:1");
    await world.pause("a:2", { until: new Date(world.clock.now().getTime() + 12 * hour) });
    const label = { scope: "group", name: "g" } as const;
    await pauseLabel(
      { sql: world.sql, queue: world.queue },
      { label, caller: { name: "ann" }, owner: "ann" },
    );
    expect(await kinds()).toEqual([]);
    await world.clock.advance(day + minute);
    await world.tick();
    expect((await problems()).problems.find(({ kind }) => kind === "old-holds")).toMatchObject({
      count: { count: 2 },
      text: "2 holds are older than a day.",
      see: { path: "/v1/holds", query: {} },
      command: "carillon holds",
    });
    expect((await problems("a:")).problems.find(({ kind }) => kind === "old-holds")).toMatchObject({
      count: { count: 1 },
      sample: "a:1",
    });
  });

  test("Occurrences that were missed in the last day are counted, with their first minute", async () => {
    await world.put("often", { when: "every 1m", catchUp: { policy: "skip" } });
    await world.tick();
    await world.work();
    await world.clock.advance(hour);
    await world.tick();
    await world.work();
    await world.tick();
    const { problems: found } = await problems();
    expect(found).toMatchObject([
      { kind: "missed", since: new Date("2026-03-02T11:00:00Z") },
      { kind: "outages", since: new Date("2026-03-02T10:00:00Z") },
    ]);
    expect(found[0]?.count.count).toBeGreaterThan(50);
    expect(await kinds("often")).toEqual(["outages"]);
  });

  test("Lost pulses are counted with the series that shows them", async () => {
    await world.sql`insert into carillon.minutes (minute, pulses_lost) values (date_trunc('minute', carillon.clock()), 3)`;
    expect((await problems()).problems).toMatchObject([
      {
        kind: "pulses-lost",
        count: { count: 3 },
        see: { path: "/v1/series", query: { from: "2026-03-02T10:00:00.000Z" } },
        command: "carillon series --from 2026-03-02T10:00:00.000Z",
      },
    ]);
  });

  test("An outage of the last day that is over is named with its span, for each prefix, and forgotten after a day", async () => {
    await world.clock.advance(6 * minute);
    await world.tick();
    const found = await problems("a:");
    expect(found).toMatchObject({
      verdict: "on-time",
      problems: [
        {
          kind: "outages",
          since: new Date("2026-03-02T10:00:00Z"),
          text: "In the last day there was an outage that is over: no tick ran from 2026-03-02T10:00:00Z to 2026-03-02T10:06:00Z (6 minutes).",
          see: { path: "/v1/outages", query: { from: "2026-03-01T10:06:00.000Z" } },
          command: "carillon outages --from 2026-03-01T10:06:00.000Z",
        },
      ],
    });
    await world.sql`update carillon.outages set from_at = from_at - interval '25 hours', to_at = to_at - interval '25 hours'`;
    expect(await kinds()).toEqual([]);
  });
});
