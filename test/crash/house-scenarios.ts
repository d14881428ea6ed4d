import { pauseLabel, resumeLabel } from "../../lib/batch/label-holds.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { defineGroups } from "../../lib/limit/define-limits.ts";
import { acceptance } from "../inbox/inbox-world.ts";
import { mend, poison } from "../poison/poison.ts";
import type { Moment } from "./fuse.ts";
import { caller, later, minute, nextEdit, patch, pause, put, type Scenario, second, slow } from "./steps.ts";
import type { CrashWorld } from "./world.ts";

const demo = { queue: "demo" };

/** Runs ticks, each a minute after the one before. */
async function ticks(world: CrashWorld, count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    await world.clock.advance(minute);
    await world.tick();
  }
}

/**
 * A tick fails on a row that cannot be changed; then the row is mended, and a tick follows after
 * the retry's wait.
 */
async function untilMended(world: CrashWorld, table: string): Promise<void> {
  await world.tick();
  await world.beside((sql) => mend(sql, table));
  await ticks(world, 1);
}

/** Work over several transactions has recorded its progress, or its end. */
const isCarriedOn = ({ label, side }: Moment) =>
  side === "after" && /(update carillon\.shared_holds|delete from carillon\.wanted_holds)/.test(label);

const idOf = async (sql: Sql, key: string) =>
  (await sql<{ id: string }[]>`select id from carillon.schedules where key = ${key}`)[0]?.id ?? "";

type Command = (payload: { edit: number }) => object;

async function send(sql: Sql, commands: readonly Command[]): Promise<void> {
  for (const command of commands) {
    const payload = nextEdit();
    await sql`insert into commands (edit) values (${payload.edit})`;
    await sql`select carillon.send_command(${JSON.stringify(command(payload))}::text::jsonb)`;
  }
}

const retry = { attempts: 100, base: "5s", max: "5s" };
const shop = { label: { scope: "group", name: "shop" } as const, caller };
/** The caller of a pause or a resume disconnects after one member. */
const oneMember = { most: 1, timeIsUp: () => false };

export const houseScenarios: readonly Scenario[] = [
  {
    name: "ticks that apply the SQL inbox, and quarantine a command that they fail on",
    oneOf: 500,
    isDecisive: isCarriedOn,
    prepare: async (world) => {
      await put(world, "old", "every 40s");
      await world.tick();
      world.more.tick = { acceptance };
      await world.beside(async (sql) => {
        await sql.unsafe(`
          create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
          create trigger refuse before insert on carillon.schedules for each row when (new.key = 'bad') execute function public.refuse()`);
        await send(sql, [
          (payload) => ({ put: { key: "new", when: "every 20s", target: demo, retry, payload } }),
          (payload) => ({ put: { key: "bad", when: "every 25s", target: demo, retry, payload } }),
          (payload) => ({ patch: { key: "old", payload } }),
          (payload) => ({ patch: { key: "bad", payload } }),
        ]);
      });
    },
    act: async (world) => {
      await world.tick();
      await world.beside((sql) => sql`drop trigger refuse on carillon.schedules`);
      await ticks(world, 1);
    },
  },
  {
    name: "ticks that apply a pause and a resume of a group to its members, and quarantine one of them",
    oneOf: 500,
    isDecisive: isCarriedOn,
    prepare: async (world) => {
      for (const key of ["a", "b", "c"]) await put(world, key, "every 20s", demo, { group: "shop" });
      await put(world, "d", "every 20s", slow, { group: "shop", overlap: "queue" });
      await world.tick();
      await world.beside((sql) => poison(sql, "schedules", "old.key = 'b'"));
    },
    act: async (world) => {
      await world.edit("pause shop", (deps) => pauseLabel(deps, shop, oneMember).then(() => undefined));
      await untilMended(world, "schedules");
      await world.edit("resume shop", (deps) => resumeLabel(deps, shop, oneMember).then(() => undefined));
      await world.tick();
    },
  },
  {
    name: "ticks that delete ended schedules, hold failing ones, clear ended holds and follow a handler, each with one row in quarantine",
    oneOf: 500,
    isDecisive: isCarriedOn,
    prepare: async (world) => {
      for (const key of ["ended:1", "ended:2", "ended:3"])
        await put(world, key, "in 5s", demo, { deleteOnEnd: true });
      await patch(world, "ended:3");
      for (const key of ["fails:1", "fails:2"]) await put(world, key, "every 50s");
      for (const key of ["over:1", "over:2"]) await put(world, key, "every 50s");
      for (const key of ["follows:1", "follows:2"])
        await put(world, key, "every 50s", { handler: "digest" }, { group: "person" });
      await world.tick();
      await ticks(world, 1);
      await world.work();
      for (const key of ["over:1", "over:2"]) await pause(world, key, later(world, 10 * second));
      await world.beside(async (sql) => {
        await defineGroups(sql, [{ name: "digest", grouped: true }]);
        await sql`
          insert into carillon.wanted_holds (schedule_id, version, reason, at)
          select id, version, 'fails', carillon.clock() from carillon.schedules where key like 'fails:%'`;
        await sql`update carillon.schedules set end_look_at = carillon.clock() where key like 'ended:%'`;
        await sql`
          insert into carillon.cadences (expression, timezone) values ('17 3 * * *', 'UTC')`;
        await sql`update carillon.cadence_round set look_at = carillon.clock()`;
        await poison(sql, "schedules", "old.key in ('ended:2', 'fails:2', 'over:2', 'follows:2')");
      });
      await world.clock.advance(3 * minute);
    },
    act: (world) => untilMended(world, "schedules"),
  },
  {
    name: "ticks that let in the backlog in turns, and quarantine one row",
    oneOf: 500,
    isDecisive: isCarriedOn,
    prepare: async (world) => {
      world.more.settings = { backlogPerTurn: 10 };
      for (const key of ["a", "b"]) await put(world, key, "every 30s", demo, { catchUp: { policy: "all" } });
      await world.tick();
      await world.clock.advance(15 * minute);
      await world.beside(async (sql) => poison(sql, "backlog", `old.schedule_id = ${await idOf(sql, "b")}`));
    },
    act: (world) => untilMended(world, "backlog"),
  },
  {
    name: "ticks that sweep, and quarantine a lease, an offer and a lane",
    oneOf: 500,
    isDecisive: isCarriedOn,
    prepare: async (world) => {
      for (const key of ["leased:1", "leased:2"]) await put(world, key, "in 5s", slow);
      await put(world, "queued", "every 10s", slow, { overlap: "queue" });
      await world.tick();
      await world.clock.advance(5 * second);
      await world.work({ dies: true });
      await put(world, "offered:1", "in 20s");
      await put(world, "offered:2", "in 21s");
      await world.clock.advance(90 * second);
      world.queues.purge();
      await world.beside(async (sql) => {
        const [of1, of2] = [await idOf(sql, "leased:1"), await idOf(sql, "offered:1")];
        await poison(
          sql,
          "parcels",
          `old.lane is not null or old.schedule_ids && array[${of1}, ${of2}]::bigint[]`,
        );
      });
    },
    act: (world) => untilMended(world, "parcels"),
  },
  {
    name: "ticks that attach days and move far plan rows into the near plan",
    oneOf: 500,
    isDecisive: isCarriedOn,
    prepare: async (world) => {
      await put(world, "far", "in 6000m");
      await put(world, "farther", "in 6100m", slow);
      await world.tick();
      await world.clock.advance(3_000 * minute);
    },
    act: async (world) => {
      await world.tick();
      await world.clock.advance(2_999 * minute);
      await world.tick();
      await world.clock.advance(102 * minute);
      await world.tick();
    },
  },
];
