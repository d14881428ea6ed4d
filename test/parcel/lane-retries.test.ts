import { afterEach, beforeEach, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { jobId } from "../../lib/job/job-id.ts";
import { retryJob } from "../../lib/job-control/retry-jobs.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

test("a failed job in a lane is retried though its deadline is over by then", async () => {
  // Otherwise one failed attempt ends the job as skipped, and the other attempts of its schedule
  // are never made.
  const retry = { attempts: 2, backoff: "fixed", base: "30s", max: "30s", jitter: "none" };
  await world.put("laned", { when: "in 1m", overlap: "queue", deadline: "10s", retry });
  await world.tick();
  await world.clock.advance(minute);
  world.outcome = ({ attempt }) => (attempt === 0 ? failed("no") : { kind: "done" });
  await world.work();
  await world.clock.advance(30 * second);
  await world.work();
  expect(await world.jobs("laned")).toMatchObject([{ state: "succeeded", attempt: 2, reason: null }]);
});

test("a dead job that is retried by hand while the next one runs waits for that, also if overlaps are skipped", async () => {
  // Otherwise a job that an operator has retried is skipped, and its work is never done.
  await world.put("laned", { when: "every 30s", overlap: "skip", retry: { attempts: 1 } });
  await world.tick();
  await world.clock.advance(30 * second);
  world.outcome = () => failed("no");
  await world.work();
  await world.clock.advance(30 * second);
  const [, next] = await world.jobs("laned");
  const running = await claimParcel(world.sql, next?.parcelId ?? "0", minute);
  if (running.outcome !== "claimed") throw new Error(`The parcel is ${running.outcome}.`);
  const { id: scheduleId = "0" } = (await readSchedule(world.sql, "laned")) ?? {};
  const id = jobId({ scheduleId, occurrence: at(30 * second), kind: "cadence", n: 0 });
  await retryJob({ sql: world.sql, queue: world.queue }, { id, caller: { name: "ann" } });
  await world.work();
  expect((await world.jobs("laned"))[0]).toMatchObject({ state: "waiting", attempt: 1 });
  const { outgoing } = await settleParcel(world.sql, running, [{ kind: "succeeded" }]);
  expect(outgoing).toHaveLength(1);
});

test("a grouped handler's job that waits for its retry does not count as inside the serial lane that an edit moves it to", async () => {
  // Otherwise the group's earlier job, whose message comes late, waits for the retry of the moved
  // job.
  await world.sql`select carillon.note_grouped(array['handler/digest'], array[true])`;
  const group = { group: "order:1", serial: true };
  await world.put("early", { when: `at ${at(minute - second).toISOString()}`, ...group });
  await world.put("moved", {
    when: `at ${at(minute).toISOString()}`,
    ...group,
    target: { handler: "digest" },
  });
  await world.tick();
  await world.clock.setNow(at(minute));
  const claim = async (key: string) =>
    claimParcel(world.sql, (await world.jobs(key))[0]?.parcelId ?? "0", minute);
  const moved = await claim("moved");
  if (moved.outcome !== "claimed") throw new Error(`The parcel is ${moved.outcome}.`);
  await settleParcel(world.sql, moved, [{ kind: "retry", afterMs: hour, error: "no" }]);
  await world.patch("moved", { target: { handler: "greet" } });
  expect(await claim("early")).toMatchObject({ outcome: "claimed" });
});
