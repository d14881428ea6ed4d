import "./own-handlers.ts";
import { systemClock } from "../../../../lib/clock.ts";
import { connect, type Sql } from "../../../../lib/db/connect.ts";
import { migrate } from "../../../../lib/db/migrate/migrate.ts";
import { migrationsDirectory, readMigrations } from "../../../../lib/db/migrate/migration.ts";
import { silentLog } from "../../../../lib/log/log.ts";
import { ensureAdminToken } from "../../../../lib/token/token.ts";
import { httpEvent, invocation } from "../../../api/http-event.ts";
import { type Contender, inPortions, serve, type Working } from "../npm/serve.ts";
import { onRun } from "./noop-handlers.ts";
import { type Carrier, fastWorker, startWorkers, toAnsweredQueue, toNothing } from "./workers.ts";

const [{ assemble: assembleApi }, { assemble: assembleTick }, { assemble: assembleWorker }] =
  await Promise.all([
    import("../../../../functions/api.ts"),
    import("../../../../functions/tick.ts"),
    import("../../../../functions/worker.ts"),
  ]);

let watch: { url: string; sql: Sql } | undefined;

const bearer = "bench-token";
/** What one request of `POST /v1/schedules:batch` takes at most. */
const portion = 1_000;

const carrier: Carrier = process.env["PEERS_CARRIER"] === "direct" ? "direct" : "sqs";

/** `slow`: the worker that runs handlers, with one that does nothing. `fast`: the other one, with a target that does nothing or a queue that answers here. */
const queueClass = process.env["PEERS_CLASS"] === "fast" ? "fast" : "slow";
const target = queueClass === "fast" ? { queue: "bench" } : { handler: "noop" };

const envOf = (url: string) => ({ ...process.env, DATABASE_URL: url });

/**
 * So many jobs, one lot after the other, tell the packing what one costs before anything is measured, as it knows of a target that is in use: a
 * parcel of an unknown target has ten, and what the first ones take is mostly that their workers begin.
 */
const learnt = [200, 2_000, 10_000, 10_000];
const learningPollMs = 20;

/** Carillon as it is deployed: its API, its tick and its workers, each assembled as Lambda would. */
const contender: Contender = {
  install: async (url) => {
    const sql = connect({ DATABASE_URL: url });
    await migrate(sql, await readMigrations(migrationsDirectory), silentLog);
    await ensureAdminToken(sql, bearer);
    await sql.end();
    // What is due now is made a job at once only where a tick has been.
    await tick(url);
    const working = startWork(url, () => {}, "direct");
    for (const count of learnt) {
      await contender.store({ url, count, at: null });
      while (await contender.isLeft(url)) await systemClock.sleep(learningPollMs);
      await tick(url);
    }
    await working.stop();
    // A database in which somebody is cannot be copied.
    await watch?.sql.end();
    watch = undefined;
  },

  store: async ({ url, count, at }) => {
    // Schedules are stored days before they are due: where the tick has been already, storing them makes their jobs.
    if (at !== null)
      await watched(url)`update carillon.shards set watermark_at = carillon.clock() - interval '10 minutes'`;
    // As Lambda has one for each request that is under way, with a connection of its own.
    const apis = [assembleApi(envOf(url)), assembleApi(envOf(url))];
    const free = [...apis];
    try {
      await inPortions({ count, portion, callers: apis.length }, async (jobs) => {
        const api = free.pop();
        if (api === undefined) throw new Error("More callers than functions.");
        const operations = jobs.map((n) =>
          at === null
            ? { job: { target, payload: { n } } }
            : { put: { key: `due:${n}`, when: `at ${at.toISOString()}`, target, payload: { n } } },
        );
        const event = httpEvent("POST", "/v1/schedules:batch", {
          headers: { authorization: `Bearer ${bearer}` },
          body: { operations },
        });
        const { statusCode, body } = await api.handler(event, invocation);
        if (statusCode !== 200 || body.includes('"error"'))
          throw new Error(`A batch was answered ${statusCode}: ${body.slice(0, 500)}`);
        free.push(api);
      });
    } finally {
      for (const { close } of apis) await close();
    }
  },

  work: async (url, ran) => startWork(url, ran, carrier),

  isLeft: async (url) => {
    // Whoever waits is in a parcel, so that while there is one nobody has to look through the jobs.
    const [row] = await watched(url)<{ left: boolean }[]>`
      select case when exists (select from carillon.parcels) then true
        else exists (select from carillon.jobs where state = 'waiting') end as left`;
    return row?.left === true;
  },

  also: { tick },
};

await serve(contender);

function startWork(url: string, ran: (job: number) => void, by: Carrier): Working {
  onRun(ran);
  const deliver = process.env["PEERS_TARGET"] === "queue" ? toAnsweredQueue(ran) : toNothing(ran);
  const assemble = queueClass === "fast" ? fastWorker(deliver) : assembleWorker;
  return startWorkers(envOf(url), { queueClass, carrier: by, assemble });
}

async function tick(url: string): Promise<void> {
  const { handler, close } = assembleTick(envOf(url));
  const { finished } = await handler(
    { ticks: 1, tick: 0, time: new Date().toISOString() },
    { ...invocation, getRemainingTimeInMillis: () => 60_000 },
  );
  await close();
  if (!finished) throw new Error("The tick has not come to its end.");
}

function watched(url: string): Sql {
  if (watch?.url !== url) watch = { url, sql: connect({ DATABASE_URL: url }) };
  return watch.sql;
}
