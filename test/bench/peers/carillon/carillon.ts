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
/** The limit of one request of `POST /v1/schedules:batch`. */
const portion = 1_000;

const carrier: Carrier = process.env["PEERS_CARRIER"] === "direct" ? "direct" : "sqs";

/**
 * `slow`: the worker that runs handlers, with a handler that does nothing. `fast`: the other one,
 * with a target that does nothing or a queue that answers in this process.
 */
const queueClass = process.env["PEERS_CLASS"] === "fast" ? "fast" : "slow";
const target = queueClass === "fast" ? { queue: "bench" } : { handler: "noop" };

const envOf = (url: string) => ({ ...process.env, DATABASE_URL: url });

/**
 * Sizes of warm-up runs, one after the other, from which the packing learns the cost of a job, as
 * it knows it for a target in use. Parcels of an unknown target have ten jobs, and the first ones
 * mostly measure the start of their workers.
 */
const learnt = [200, 2_000, 10_000, 10_000];
const learningPollMs = 20;

/** Carillon as deployed: its API, tick and workers, each assembled as in Lambda. */
const contender: Contender = {
  install: async (url) => {
    const sql = connect({ DATABASE_URL: url });
    await migrate(sql, await readMigrations(migrationsDirectory), silentLog);
    await ensureAdminToken(sql, bearer);
    await sql.end();
    // A schedule that is due now becomes a job at once only when a tick has passed its shard.
    await tick(url);
    const working = startWork(url, () => {}, "direct");
    for (const count of learnt) {
      await contender.store({ url, count, at: null });
      while (await contender.isLeft(url)) await systemClock.sleep(learningPollMs);
      await tick(url);
    }
    await working.stop();
    // A database with open connections cannot be copied.
    await watch?.sql.end();
    watch = undefined;
  },

  store: async ({ url, count, at }) => {
    // Schedules are stored days before they are due: within the tick's horizon, storing them would
    // make their jobs.
    if (at !== null)
      await watched(url)`update carillon.shards set watermark_at = carillon.clock() - interval '10 minutes'`;
    // An environment of the API for each concurrent request, as in Lambda, each with its own
    // connection.
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
    // Every waiting job is in a parcel, so while parcels exist the jobs need not be searched.
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
  if (!finished) throw new Error("The tick has not finished.");
}

function watched(url: string): Sql {
  if (watch?.url !== url) watch = { url, sql: connect({ DATABASE_URL: url }) };
  return watch.sql;
}
