import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { closeGate } from "../../lib/db/locks.ts";
import { putCalendar, readCalendarWithCounts } from "../../lib/rules/calendar-edits.ts";
import { calendarsToReplan, findReplanPlace } from "../../lib/rules/calendar-replans.ts";
import { listTeams } from "../../lib/rules/calendar-turns.ts";
import { type ReplanDone, replanCalendar } from "../../lib/rules/replan-calendar.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { connectThrough, textOf } from "../race/lines.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.sql`
    select carillon.keep_team(t) from unnest(array['evil-', 'good-', 'late-']) t`;
  await put([]);
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const nothingAtOnce = { most: 0, ms: 0 };

/** Defines a calendar, and leaves its schedules to the ticks. */
function put(dates: string[], { name = "c", atOnce = nothingAtOnce, sql = world.as.api } = {}) {
  const read = readCalendarRules({ dates });
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  const params = { name, body: { description: null, rules: read.rules }, caller };
  return putCalendar({ sql, queue: world.queue }, params, atOnce);
}

/** Makes schedules `<name>-0`, `<name>-1` … with the calendar. */
async function make(name: string, count: number, body: object = {}): Promise<void> {
  const puts = Array.from({ length: count }, (_, n) => ({
    kind: "put" as const,
    key: `${name}-${n}`,
    caller,
    body: parseScheduleBody({
      when: "0 9 * * *",
      target: { queue: "demo" },
      calendar: { name: "c", on: "skip" },
      ...body,
    }),
  }));
  await applyOperations({ sql: world.as.api, queue: world.queue }, puts);
}

/** How many schedules of the name have each version. */
async function versions(name: string): Promise<Record<number, number>> {
  const rows = await world.sql<{ version: number; schedules: number }[]>`
    select version, count(*)::int as schedules from carillon.schedules
    where starts_with(key, ${`${name}-`}) group by version order by version`;
  return Object.fromEntries(rows.map(({ version, schedules }) => [version, schedules]));
}

const openTurns = () => world.sql`select from carillon.calendar_turns`;
const pending = async () => (await readCalendarWithCounts(world.sql, "c"))?.pending;

async function calendarId(name = "c"): Promise<number> {
  const [row] = await world.sql<{ id: number }[]>`select id from carillon.calendars where name = ${name}`;
  if (row === undefined) throw new Error("The calendar has no row.");
  return row.id;
}

/** Replans as a tick that is killed after so many turns or schedules. */
async function replan({
  turns = 1_000,
  most = 1_000_000,
  sql = world.as.tick,
  briefly = false,
} = {}): Promise<ReplanDone> {
  return replanCalendar({ sql, queue: world.queue }, await calendarId(), {
    turns,
    most,
    briefly,
    timeIsUp: () => false,
    failed: (_, error) => Promise.reject(error),
    left: new Set(),
  });
}

/** The list of the teams, and a turn of each. */
const firstRound = (teams: number) => replan({ turns: 1 + teams });

test("A team with few schedules on a calendar is replanned in the first round, however many another team has made before it", async () => {
  await make("evil", 900);
  await make("good", 3);
  await make("plain", 2);
  await put(["2026-03-03"]);
  await firstRound(3);
  expect(await versions("good")).toEqual({ 2: 3 });
  expect(await versions("plain")).toEqual({ 2: 2 });
  expect(await versions("evil")).toEqual({ 1: 800, 2: 100 });
  expect(await pending()).toBe(800);
  expect(await replan()).toEqual({ replanned: 800, done: true });
  expect(await pending()).toBe(0);
  expect(await openTurns()).toEqual([]);
});

test("Replanning that is killed anywhere goes on at its place, and plans each schedule once", async () => {
  await make("evil", 30);
  await make("good", 5);
  await put(["2026-03-03"]);
  for (let done = false, kills = 0; !done; kills += 1) {
    expect(kills).toBeLessThan(100);
    done = (await replan({ turns: 1 + (kills % 2), most: 1 + (kills % 3) })).done;
  }
  expect(await versions("evil")).toEqual({ 2: 30 });
  expect(await versions("good")).toEqual({ 2: 5 });
  expect(await openTurns()).toEqual([]);
});

test("A place that was lost between the replanning of schedules and its note is passed again without a change", async () => {
  await make("good", 5);
  await put(["2026-03-03"]);
  await replan({ turns: 2 });
  await world.sql`
    insert into carillon.calendar_turns (calendar_id, team_id, rules_version)
    select ${await calendarId()}, id, 2 from carillon.teams where prefix = 'good-'`;
  expect(await replan()).toEqual({ replanned: 0, done: true });
  expect(await versions("good")).toEqual({ 2: 5 });
});

test("Two processes that replan one calendar at once plan each schedule once", async () => {
  await make("evil", 130);
  await make("good", 5);
  await put(["2026-03-03"]);
  await Promise.all([replan(), replan(), replan({ sql: world.as.api })]);
  await replan();
  expect(await versions("evil")).toEqual({ 2: 130 });
  expect(await versions("good")).toEqual({ 2: 5 });
  expect(await openTurns()).toEqual([]);
  expect(await pending()).toBe(0);
});

test("A later edit of a calendar begins the turns of its teams again", async () => {
  await make("evil", 300);
  await make("good", 3);
  await put(["2026-03-03"]);
  await firstRound(2);
  await put(["2026-03-04"]);
  expect(await pending()).toBe(303);
  await firstRound(2);
  expect(await versions("good")).toEqual({ 3: 3 });
  expect(await versions("evil")).toEqual({ 1: 200, 3: 100 });
  await replan();
  expect(await versions("evil")).toEqual({ 2: 200, 3: 100 });
});

test("A schedule that gets another team while its calendar is replanned is still replanned", async () => {
  await make("evil", 300);
  await make("late", 3);
  await world.sql`update carillon.schedules set team_id = null where starts_with(key, 'late-')`;
  await put(["2026-03-03"]);
  // The list of teams, and the turns of those without schedules of this team.
  await replan({ turns: 1 });
  await world.sql`
    update carillon.schedules set team_id = t.id from carillon.teams t
    where t.prefix = 'late-' and starts_with(key, 'late-')`;
  expect((await replan()).done).toBe(true);
  expect(await versions("late")).toEqual({ 2: 3 });
});

test("The teams of a calendar are listed in steps, each with one row", async () => {
  for (const name of ["evil", "good", "late", "plain"]) await make(name, 3);
  await put(["2026-03-03"]);
  const listed: number[] = [];
  for (;;) {
    const place = await findReplanPlace(world.sql, await calendarId());
    if (place === null || place.listed === null) break;
    await listTeams(world.as.tick, place, 3);
    listed.push((await openTurns()).length);
  }
  expect(listed).toEqual([3, 4]);
  expect(await pending()).toBe(12);
});

test("Schedules of one shard are replanned in one transaction, and those that pass a lane alone", async () => {
  await make("evil", 10);
  await make("good", 3, { overlap: "skip" });
  await world.sql`update carillon.schedules set shard = 3`;
  await world.sql`update carillon.plan set shard = 3`;
  await world.sql`update carillon.plan_far set shard = 3`;
  await put(["2026-03-03"]);
  let gates = 0;
  const counted = connectThrough(world.databaseUrl, (line) => ({
    ...line,
    run: (statement) => {
      if (textOf(statement).includes("for update") && textOf(statement).includes("carillon.schedules"))
        gates += 1;
      line.run(statement);
    },
  }));
  await replan({ sql: counted });
  await counted.end();
  expect(gates).toBe(1 + 3);
  expect(await versions("evil")).toEqual({ 2: 10 });
  expect(await versions("good")).toEqual({ 2: 3 });
});

test("An edit of a calendar waits only briefly for a shard that is locked, and leaves its schedules to the tick", async () => {
  await make("good", 4);
  await world.sql`update carillon.schedules set shard = case when key = 'good-0' then 3 else 2 end`;
  await world.sql`update carillon.plan_far p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
  await world.sql.begin(async (tx) => {
    await closeGate(tx, 3);
    const { replanned, calendar } = await put(["2026-03-03"], {
      // This connection has no time limit for locks of its own.
      sql: world.sql,
      atOnce: { most: 500, ms: 5_000 },
    });
    expect({ replanned, pending: calendar.pending }).toEqual({ replanned: 3, pending: 1 });
  });
  await world.tick();
  expect(await versions("good")).toEqual({ 2: 4 });
});

test.each([
  ["has had turns", 3],
  ["has had all turns", 4],
])("A calendar whose team %s waits for calendars whose teams have had none", async (_, turns) => {
  await make("evil", 600);
  await put(["2026-03-03"]);
  await replan({ turns });
  await put([], { name: "d" });
  await make("good", 2, { calendar: { name: "d", on: "skip" } });
  await put(["2026-03-03"], { name: "d" });
  expect(await calendarsToReplan(world.as.tick, { limit: 1, without: [] })).toEqual([await calendarId("d")]);
});

test("Replanning for which a caller waits stops where edits keep the row of the calendar, and the tick goes on", async () => {
  await make("good", 4);
  await put(["2026-03-03"]);
  await world.sql.begin(async (tx) => {
    await tx`select from carillon.calendars for share`;
    // This connection has no time limit for locks of its own.
    expect(await replan({ sql: world.sql, briefly: true })).toEqual({ replanned: 0, done: false });
  });
  expect(await replan()).toEqual({ replanned: 4, done: true });
});
