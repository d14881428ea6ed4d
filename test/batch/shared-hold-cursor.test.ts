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

test("a cursor of a pause that was released and set again is refused, and likewise one of a resume", async () => {
  // Otherwise a caller that continues an old call takes part in a later pause of another caller.
  for (const key of ["a", "b", "c"]) await world.put(key, { when: "every 1m", group: "shop" });
  const paused = await pause();
  const resumed = await resume();
  await pause();
  await expect(pause(paused.unfinished)).rejects.toMatchObject({ kind: "conflict" });
  await resume();
  await expect(resume(resumed.unfinished)).rejects.toMatchObject({ kind: "conflict" });
});
