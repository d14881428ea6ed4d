import { parseArgs } from "node:util";
import { bench as api } from "./api.ts";
import { bench as bundle } from "./bundle.ts";
import { bench as cron } from "./cron.ts";
import { bench as drain } from "./drain.ts";
import { bench as fire } from "./fire.ts";
import { bench as forecast } from "./forecast.ts";
import { bench as growth } from "./growth.ts";
import { bench as ingest } from "./ingest.ts";
import type { Bench } from "./report.ts";
import { bench as search } from "./search.ts";

const benches: Readonly<Record<string, Bench>> = {
  api,
  fire,
  drain,
  growth,
  ingest,
  cron,
  search,
  forecast,
  bundle,
};

const help = `npm run bench -- <name> [--json] [options]

  api     requests to the API's handler: one by one, and in batches of 1,000  --schedules 300000 --singles 2000 --batches 20 --runs 3
  fire    plan rows due at one instant → durable jobs and parcels, sent      --schedules 3000000 --due 100000 --runs 3
  drain   parcels in SQS → claimed, delivered to a no-op, settled            --jobs 100000 --workers 2
  forecast  the fires of the hour and the day to come, and the stats         --schedules 3000000 --due 500000 --runs 5
  ingest  commands → schedules by one worker, handed over and through SQS       --schedules 300000 --commands 10000 --runs 3
  growth  fire with the same due set at two sizes of the table               --schedules 300000,3000000 --due 100000
  search  pages of each search of schedules and jobs, p50 and p99               --schedules 3000000 --jobs 1000000 --runs 40
  bundle  size of each function's bundle against its budget, and how long a fresh process takes to import it; needs no database   --runs 20
  cron    next instants per second on one core, beside croner and cron-parser; needs no database            --runs 3

  --lanes N       connections that fire side by side (2)
  --data-dir DIR  keep the database there and use it again (default: a temporary one, removed afterwards)
  --json          the last line is one JSON object with the figures`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    schedules: { type: "string" },
    due: { type: "string" },
    jobs: { type: "string" },
    runs: { type: "string" },
    commands: { type: "string" },
    singles: { type: "string" },
    batches: { type: "string" },
    lanes: { type: "string" },
    batch: { type: "string" },
    workers: { type: "string" },
    "data-dir": { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const [name = ""] = positionals;
const bench = benches[name];
if (values.help || bench === undefined) {
  process.stderr.write(`${help}\n`);
  process.exitCode = values.help ? 0 : 2;
} else {
  const { json, help: _, ...options } = values;
  const figures = await bench(options, (line) => (json ? process.stderr : process.stdout).write(`${line}\n`));
  if (json) process.stdout.write(`${JSON.stringify({ bench: name, ...figures })}\n`);
}
