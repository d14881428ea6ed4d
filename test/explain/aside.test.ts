import { afterEach, beforeEach, expect, test } from "vitest";
import { explain } from "../../lib/explain/explain.ts";
import { letGo, setAside } from "../../lib/quarantine/quarantine.ts";
import { unknownZone } from "../poison/plan-steps.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.tick();
});

afterEach(() => world.stop());

test("An explanation shows quarantine entries of its own schedule only, with the rights of the API, until the entry is removed", async () => {
  for (const key of ["bad", "good"]) await world.put(key, { when: "every 1d" });
  const [bad] = await world.sql<{ id: string }[]>`select id from carillon.schedules where key = 'bad'`;
  const scheduleId = bad?.id ?? "";
  await setAside(world.as.tick, "follower", [{ item: scheduleId, scheduleId, error: new Error("no") }]);
  const told = (key: string) => explain(world.as.api, { key, at: at(day) });
  const entry = {
    consumer: "follower",
    reason: "Error: no",
    firstAt: at(0),
    tries: 1,
    nextAt: at(minute),
  };
  expect((await told("bad")).setAside).toEqual([entry]);
  expect((await told("bad")).sentence).toContain("because `follower` failed on it once (Error: no)");
  expect(await told("good")).not.toHaveProperty("setAside");
  await letGo(world.as.tick, "follower", [scheduleId]);
  expect(await told("bad")).not.toHaveProperty("setAside");
});

test.each([
  ["to come", 2 * day],
  ["past", 3 * minute],
])(
  "An explanation of an instant %s says that its cadence cannot be read and why, since when the schedule is set aside, and what to do",
  async (_, ms) => {
    await world.put("bad", { when: "*/5 * * * *", timezone: "Asia/Tokyo" });
    await world.sql`update carillon.cadences set timezone = ${unknownZone} where timezone = 'Asia/Tokyo'`;
    await world.sql`
      update carillon.schedule_versions set body = body || ${JSON.stringify({ timezone: unknownZone })}::text::jsonb
      where body ->> 'timezone' = 'Asia/Tokyo'`;
    for (let each = 0; each < 6; each++) {
      await world.clock.advance(minute);
      await world.tick();
    }
    const { outcome, reason, sentence, setAside, occurrence } = await explain(world.as.api, {
      key: "bad",
      at: at(ms),
    });
    expect({ outcome, reason, occurrence }).toEqual({
      outcome: "set-aside",
      reason: "unreadable",
      occurrence: false,
    });
    expect(sentence).toMatch(
      /^Cannot be explained: the cadence of version 1, `\*\/5 \* \* \* \*` in Mars\/Olympus_Mons, cannot be read here/,
    );
    expect(sentence).toContain(`The time zone ${unknownZone} is not known to this runtime`);
    expect(sentence).toContain("Patch its `when` or `timezone`");
    expect(sentence).toContain(
      "The schedule has been set aside since 2026-03-02T10:02:00Z, because `plan` failed on it",
    );
    expect(setAside).toHaveLength(1);
  },
);
