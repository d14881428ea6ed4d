import { afterEach, beforeEach, expect, test } from "vitest";
import { pauseLabel, resumeLabel } from "../../lib/batch/label-holds.ts";
import { type Carillon, carillon } from "../support/carillon.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const params = { label: { scope: "group", name: "shop" } as const, caller: { name: "ann" } };
const few = { most: 1, timeIsUp: () => false };
const deps = () => ({ sql: world.sql, queue: world.queue });
const pause = (revision?: string) => pauseLabel(deps(), { ...params, revision }, few);
const resume = (revision?: string) => resumeLabel(deps(), { ...params, revision }, few);

test("a cursor of a pause that was taken back and asked for again is refused, and one of a resume too", async () => {
  // Else a caller that still works through an old call has a part in a pause that another caller has asked for since.
  for (const key of ["a", "b", "c"]) await world.put(key, { when: "every 1m", group: "shop" });
  const paused = await pause();
  const resumed = await resume();
  await pause();
  await expect(pause(paused.unfinished)).rejects.toMatchObject({ kind: "conflict" });
  await resume();
  await expect(resume(resumed.unfinished)).rejects.toMatchObject({ kind: "conflict" });
});
