import path from "node:path";
import type { QueueClass } from "../../../lib/parcel/parcel-queue.ts";
import type { Carrier } from "./carillon/workers.ts";
import { install, missingTool } from "./install.ts";
import { versionIn } from "./manifest.ts";
import type { Peer, Place, Ready } from "./peer.ts";
import { startRedis } from "./redis.ts";

const npmVersion = (name: string) => versionIn("npm/package.json", new RegExp(`"${name}": "([^"]+)"`));
const mavenVersion = (artifact: string) =>
  versionIn("java/pom.xml", new RegExp(`<artifactId>${artifact}</artifactId>\\s*<version>([^<]+)`));

async function npmProgram({ directory }: Place, file: string): Promise<Ready> {
  const cwd = await install({
    source: "npm",
    directory,
    manifests: ["package.json", "package-lock.json"],
    steps: [["npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]],
  });
  return { command: { file: process.execPath, args: [file], cwd } };
}

async function javaProgram({ directory }: Place, contender: string): Promise<Ready> {
  const cwd = await install({
    source: "java",
    directory,
    manifests: [
      "pom.xml",
      ...["Contender", "Database", "DbSchedulerContender", "QuartzContender", "Ran", "Serve"].map(
        (name) => `src/main/java/carillon/peers/${name}.java`,
      ),
    ],
    steps: [["mvn", "-q", "-B", "compile"]],
  });
  const classes = ["target/classes", "target/lib/*"].map((part) => path.join(cwd, part)).join(path.delimiter);
  return {
    command: { file: "java", args: ["-Xmx1g", "-cp", classes, "carillon.peers.Serve", contender], cwd },
  };
}

const npmAvailable = () => missingTool("npm", ["--version"], "npm");
const javaAvailable = async () =>
  (await missingTool("java", ["-version"], "Java")) ?? (await missingTool("mvn", ["-v"], "Maven"));
const redisAvailable = async () =>
  (await npmAvailable()) ??
  (await missingTool("redis-server", ["--version"], "redis-server (Debian's package of that name)"));

function bullmq(sync: "everysec" | "always", promise: string): Peer {
  return {
    name: `bullmq-${sync}`,
    version: npmVersion("bullmq"),
    settings: `Redis with \`appendonly yes\`, \`appendfsync ${sync}\`; \`concurrency\` 300 a process, \`removeOnComplete\`; added by \`addBulk\` of 5,000, two at a time`,
    promise,
    available: redisAvailable,
    prepare: async (place) => ({
      ...(await npmProgram(place, "bullmq.ts")),
      url: await startRedis(sync, place.during),
    }),
  };
}

/**
 * The peers that Carillon is compared with, each configured for throughput by its own
 * documentation.
 */
export const peers: readonly Peer[] = [
  {
    name: "graphile-worker",
    version: npmVersion("graphile-worker"),
    settings:
      "as its own performance test: `concurrentJobs` 24, `maxPoolSize` 25, `localQueue` of 500 with a `refetchDelay` of 10 ms, `completeJobBatchDelay` and `failJobBatchDelay` 0; `pollInterval` 100 ms instead of 2 s; added by `addJobs` of 10,000, two at a time",
    promise:
      "durable, at least once; a crashed worker's jobs are locked for four hours; a done job is deleted without a record of its run",
    available: npmAvailable,
    prepare: (place) => npmProgram(place, "graphile-worker.ts"),
  },
  {
    name: "pg-boss",
    version: npmVersion("pg-boss"),
    settings:
      "`batchSize` 1,000, `localConcurrency` 2, `burstWhenBatchFull`, polls each 0.5 s (its least) and LISTEN/NOTIFY, pool of 4; neither supervision nor cron beside it; added by `insert` of 5,000, two at a time",
    promise: "durable, at least once; jobs that are done stay for a week",
    available: npmAvailable,
    prepare: (place) => npmProgram(place, "pg-boss.ts"),
  },
  bullmq(
    "everysec",
    "not durable: the last second is lost with the machine; at least once; done jobs are deleted",
  ),
  bullmq(
    "always",
    "durable: each answer waits for the file to be synced; at least once; done jobs are deleted",
  ),
  {
    name: "river",
    version: versionIn("river/go.mod", /riverqueue\/river v(\S+)/),
    settings:
      "as its own benchmark: `MaxWorkers` 2,000, `FetchCooldown` 2 ms, `FetchPollInterval` 20 ms, its batch completer, pool of 12; added by `InsertManyFast` of 5,000, two at a time; later jobs are searched for every 5 s, 5 s ahead, which cannot be configured",
    promise: "durable, at least once; jobs that are done stay for a day",
    available: () => missingTool("go", ["version"], "Go"),
    prepare: async ({ directory }) => {
      const cwd = await install({
        source: "river",
        directory,
        manifests: ["go.mod", "go.sum", "main.go", "ran.go"],
        steps: [["go", "build", "-o", "river-bench", "."]],
      });
      return { command: { file: path.join(cwd, "river-bench"), args: [], cwd } };
    },
  },
  {
    name: "db-scheduler",
    version: mavenVersion("db-scheduler"),
    settings:
      "`pollUsingLockAndFetch(0.5, 4.0)`, 50 threads, `pollingInterval` 100 ms, HikariCP with 20 connections; added by `scheduleBatch` of 5,000 with the driver's `reWriteBatchedInserts`",
    promise: "durable, at least once; a job that is done is deleted",
    available: javaAvailable,
    prepare: (place) => javaProgram(place, "db-scheduler"),
  },
  {
    name: "quartz",
    version: mavenVersion("quartz"),
    share: 0.1,
    settings:
      "JDBC store, clustered; 20 threads, `batchTriggerAcquisitionMaxCount` 20, a window of 1 s ahead, `idleWaitTime` 1 s (its least), 25 connections (HikariCP); one trigger for each job to run, added by `scheduleJobs` of 1,000 triggers",
    promise: "durable, at most once unless recovery is requested; a fired trigger is deleted",
    available: javaAvailable,
    prepare: (place) => javaProgram(place, "quartz"),
  },
];

function carillon(
  name: string,
  more: Pick<Peer, "settings" | "promise" | "words" | "works">,
  {
    queue,
    carrier = "sqs",
    target = "nothing",
  }: { queue: QueueClass; carrier?: Carrier; target?: "nothing" | "queue" },
): Peer {
  return {
    name,
    version: "this commit",
    ...more,
    available: async () => null,
    prepare: async ({ stack }) => ({
      command: {
        file: process.execPath,
        args: ["carillon.ts"],
        cwd: path.join(import.meta.dirname, "carillon"),
        env: { ...stack.env, PEERS_CLASS: queue, PEERS_CARRIER: carrier, PEERS_TARGET: target },
      },
    }),
  };
}

const ledger = "durable, at least once; never a second job for an occurrence; every job stays in the ledger";
const asDeployed =
  "the deployed Lambda functions, through the SQS emulator, which is an additional process here and takes no CPU of a deployment; the target has run some thousands of jobs before, so that the packing knows their cost; schedules are stored beyond the tick's horizon, like those that are created hours before they are due; `TARGET_WINDOW` as for 10 slow workers; added by `POST /v1/schedules:batch` of 1,000, two at a time (`put` with `at …`, or `job`)";

const withoutSqs =
  "parcels come to the functions from a query of the database instead of SQS, which runs on other machines in production";

/**
 * A tick before the run lets added schedules become jobs at once; a tick after the warm-up cleans
 * up the warm-up's schedules.
 */
const warm = { begin: "tick", warm: "tick" } as const;

/** Carillon itself, in the same harness with the same commands. */
export const own: readonly Peer[] = [
  carillon(
    "carillon",
    {
      settings: `${asDeployed}; handlers, 10 environments a process, half of them for one handler. The tick starts when all are due, although in production it would have finished minutes before`,
      promise: ledger,
      words: { ...warm, due: "tick" },
    },
    { queue: "slow" },
  ),
  carillon(
    "carillon-fast",
    {
      settings:
        "the same with the worker for `queue` and `event` targets, 8 environments a process, and no call of the target itself",
      promise: ledger,
      words: { ...warm, due: "tick" },
    },
    { queue: "fast" },
  ),
  carillon(
    "carillon-ahead",
    {
      settings: "as `carillon`, and the tick has finished before all are due, as in a deployment",
      promise: ledger,
      words: { ...warm, stored: "tick" },
      works: ["due"],
    },
    { queue: "slow" },
  ),
  carillon(
    "carillon-direct",
    {
      settings: `as \`carillon-ahead\`; ${withoutSqs}`,
      promise: ledger,
      words: { ...warm, stored: "tick" },
      works: ["due"],
    },
    { queue: "slow", carrier: "direct" },
  ),
  carillon(
    "carillon-fast-direct",
    {
      settings: `as \`carillon-fast\`, and the tick has finished before all are due; ${withoutSqs}`,
      promise: ledger,
      words: { ...warm, stored: "tick" },
      works: ["due"],
    },
    { queue: "fast", carrier: "direct" },
  ),
  carillon(
    "carillon-queue-direct",
    {
      settings:
        "as `carillon-fast-direct`, to an SQS queue by the real sender, with requests of ten that are answered in the process before they are serialized and signed",
      promise: ledger,
      words: { ...warm, stored: "tick" },
      works: ["due"],
    },
    { queue: "fast", carrier: "direct", target: "queue" },
  ),
];
