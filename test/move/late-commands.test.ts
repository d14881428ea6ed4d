import { afterEach, expect, test } from "vitest";
import { listDeadCommands } from "../../lib/ingest/dead-commands.ts";
import { defineJob } from "../../lib/job/define-job.ts";
import { type InboxWorld, inboxWorld } from "../inbox/inbox-world.ts";
import { type IngestWorld, ingestWorld } from "../ingest/ingest-world.ts";
import { minute, second } from "../support/instants.ts";
import { type HandlerWorld, handlerWorld } from "../target/handler-world.ts";
import { moveAway, peer } from "./move-away.ts";

const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const body = { when: "every 1h", target: { queue: "demo" } };
const verbs = ["put", "patch", "delete", "pause", "resume"] as const;

/** A schedule for each verb, and one that stays. */
async function putEach({ put }: Pick<HandlerWorld, "put">): Promise<void> {
  for (const verb of verbs) await put(`acme:${verb}`, body);
  await put("other:a", body);
}

const commandFor = (verb: (typeof verbs)[number], key = `acme:${verb}`) =>
  ({
    put: { put: { key, ...body, payload: 1 } },
    patch: { patch: { key, payload: 1 } },
    delete: { delete: key },
    pause: { pause: { key, owner: "ann" } },
    resume: { resume: { key, owner: "ann" } },
  })[verb];

async function movedQueue(): Promise<IngestWorld> {
  const world = await ingestWorld();
  stops.push(world.stop);
  await putEach(world.carillon);
  await world.carillon.clock.advance(minute);
  expect(await moveAway(world.carillon, "acme:")).toBe(verbs.length);
  return world;
}

const refusedByQueue = async ({ sql }: IngestWorld) => {
  const { items } = await listDeadCommands(sql, { isForTeam: false, limit: 50 });
  return items
    .map(({ key, refusal }) => [key, refusal.movedTo])
    .sort(([one], [other]) => String(one).localeCompare(String(other)));
};

const eachMoved = verbs.map((verb) => [`acme:${verb}`, peer]).sort();

test.each([
  { when: "after the move", seconds: 1 },
  { when: "before the move, and late", seconds: -30 },
])(
  "The queue refuses each command for a schedule that has moved, given $when, and names its installation",
  async ({ seconds }) => {
    const world = await movedQueue();
    const at = new Date(world.carillon.clock.now().getTime() + seconds * second).toISOString();
    const messages = verbs.map((verb) => ({ body: { at, ...commandFor(verb) } }));
    expect(await world.ingest([...messages, { body: { delete: "acme:never" } }])).toEqual([]);
    expect(await refusedByQueue(world)).toEqual(eachMoved);
  },
);

test("The queue applies a new schedule of a prefix that has moved, until the prefix is closed", async () => {
  const world = await movedQueue();
  expect(await world.command(commandFor("put", "acme:new"))).toEqual([]);
  expect(await world.command(commandFor("patch", "other:a"))).toEqual([]);
  expect(await refusedByQueue(world)).toEqual([]);
  expect(
    await world.carillon.sql`select key from carillon.schedules where deleted_at is null order by key`,
  ).toMatchObject([{ key: "acme:new" }, { key: "other:a" }]);
});

test("The SQL inbox refuses each command for a schedule that has moved, a delete too, and names its installation", async () => {
  const world: InboxWorld = await inboxWorld();
  stops.push(world.stop);
  await putEach(world);
  expect(await moveAway(world, "acme:")).toBe(verbs.length);
  const { sql } = world.caller;
  for (const verb of verbs) {
    const key = `acme:${verb}`;
    if (verb === "put") await sql`select carillon.put_schedule(${sql.json({ key, ...body, payload: 1 })})`;
    else if (verb === "patch") await sql`select carillon.patch_schedule(${sql.json({ key, payload: 1 })})`;
    else await sql`select ${sql.unsafe(`carillon.${verb}_schedule`)}(${key})`;
  }
  await sql`select carillon.put_schedule(${sql.json({ key: "acme:new", ...body })})`;
  await sql`select carillon.delete_schedule('acme:never')`;
  await world.tick();
  expect(await world.waiting()).toBe(0);
  const refused = await world.refused();
  expect(refused.map(({ key, problem }) => [key, problem.includes(`is at ${peer} since`)]).sort()).toEqual(
    verbs.map((verb) => [`acme:${verb}`, true]).sort(),
  );
});

test("A handler's edit of a schedule that has moved fails with its installation, a cancel too", async () => {
  let edit: "put" | "cancel" | "new" | "never" = "put";
  const handler = defineJob({
    name: "keep",
    run: async (_payload, { schedule }) => {
      if (edit === "put") schedule.put("acme:put", { when: "in 1h", target: { handler: "keep" } });
      else if (edit === "new") schedule.put("acme:new", { when: "in 1h", target: { handler: "keep" } });
      else schedule.cancel(edit === "cancel" ? "acme:delete" : "acme:never");
    },
  });
  const world = await handlerWorld(handler);
  stops.push(world.stop);
  await putEach(world);
  expect(await moveAway(world, "acme:")).toBe(verbs.length);
  const errors: (string | null | undefined)[] = [];
  for (edit of ["put", "cancel", "new", "never"] as const) {
    await world.put(`job:${edit}`, { when: "in 1s", target: { handler: "keep" }, retry: { attempts: 1 } });
    await world.clock.advance(2 * second);
    await world.runDue();
    const job = (await world.jobs()).find(({ key }) => key === `job:${edit}`);
    errors.push(job?.state === "succeeded" ? null : job?.error);
  }
  expect(errors).toEqual([
    expect.stringContaining(`ctx.schedule.put("acme:put"): The schedule acme:put is at ${peer} since`),
    expect.stringContaining(
      `ctx.schedule.cancel("acme:delete"): The schedule acme:delete is at ${peer} since`,
    ),
    null,
    null,
  ]);
});
