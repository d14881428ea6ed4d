import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import {
  type EmulatorEnvironment,
  emulatorAt,
  ownerSecret,
} from "../../../infra/tools/localstack/emulator.ts";
import { localstackSettings } from "../../../infra/tools/localstack/profile.ts";
import { systemClock } from "../../../lib/clock.ts";
import { briefLog } from "../../../lib/log/log.ts";
import type { Closers } from "../../../lib/tools/local/closers.ts";
import { freeLoopbackPort } from "../../../lib/tools/local/free-port.ts";
import { localConnectionsMax } from "../../../lib/tools/local/local-functions.ts";
import { type PostgresServer, startPostgres } from "../../../lib/tools/local/postgres/start-postgres.ts";
import { smokeSettings } from "../../smoke/smoke-settings.ts";
import type { Template } from "../gaps.ts";
import { attach } from "./attach.ts";
import { createStack, type Stack, synthesise } from "./deploy.ts";
import { walkEvents } from "./event-walk.ts";
import { pinned, startLocalstack } from "./localstack-process.ts";
import { type Read, readDeployed } from "./read-deployed.ts";
import { countsOf, leftOutLines } from "./report.ts";
import { type Adapted, withoutLambda } from "./without-lambda.ts";

export interface WalkParts {
  /** The Python that has LocalStack. */
  readonly python: string;
  /** Empty; it gets the files of LocalStack, Postgres and the template. */
  readonly folder: string;
  /** Gets the closers of all that the walk starts. */
  readonly started: Closers;
  readonly stopping: AbortSignal;
  /** Prints text, whole lines or not. */
  readonly print: (text: string) => void;
}

export interface Walked {
  readonly whole: Template;
  readonly adapted: Adapted;
  readonly read: readonly Read[];
}

const clock = systemClock;
const log = briefLog("host", clock.now, (line) => void process.stderr.write(`${line}\n`));
const smokeScript = path.join(import.meta.dirname, "..", "..", "smoke", "run.ts");
/** For the migrations. */
const othersConnectionsMax = 20;
/** The scheduler of LocalStack looks about once a minute. */
const TICKED_MS_MAX = 130_000;

/** Deploys, connects the functions, and takes the whole path; throws at the first step that fails. */
export async function walk(parts: WalkParts): Promise<Walked> {
  const { python, folder, started, stopping } = parts;
  const say = (line: string) => parts.print(`${line}\n`);
  const localstack = await startLocalstack(python, folder, clock);
  started.defer(() => localstack.stop());
  stopping.throwIfAborted();
  say(`ok  ${pinned} listens on ${localstack.url}, without Docker and without a token`);
  const postgres = await startDatabase(parts);
  say("ok  the Postgres of the local stack runs beside it");

  const emulator = emulatorAt(localstack.url);
  const port = await freeLoopbackPort();
  const { whole, adapted, stack } = await deploy(parts, { emulator, postgres, port });
  const { inTemplate, deployed, added } = countsOf(whole, adapted);
  say(`ok  CloudFormation deployed ${deployed} of ${inTemplate} resources, and ${added} added queue`);
  for (const line of leftOutLines(adapted.leftOut)) say(`left out  ${line}`);
  const read = await readDeployed(adapted, whole, emulator);
  for (const { type, says, resources, result } of read)
    say(`read back  ${resources} ${type}: ${says}: ${result}`);

  leadClientsTo(emulator);
  const env = environmentOfSmoke(whole, stack, emulator);
  const { url, token } = await smokeSettings(env);
  const { ruleFeeds } = adapted;
  const serverUrl = postgres.socketUrl;
  const attachParts = { emulator, whole, ruleFeeds, stack, serverUrl, token, port, clock, log };
  const { queues, ticked } = await attach(attachParts, started);
  stopping.throwIfAborted();
  say(`ok  local functions poll ${queues} of its queues, and its REST API passes requests on to them`);
  await inTime(ticked, stopping);
  say("ok  its rule of each minute started a tick");
  await smokeTest(env, parts);
  await walkEvents({ url, token });
  say("ok  a job sent an event to its bus, and a rule passed the event on to a queue");
  return { whole, adapted, read };
}

async function startDatabase({ folder, started, stopping }: WalkParts): Promise<PostgresServer> {
  const dataDir = path.join(folder, "postgres");
  mkdirSync(dataDir);
  const max_connections = String(localConnectionsMax + othersConnectionsMax);
  const postgres = await startPostgres({ dataDir, clock, log, settings: { max_connections } });
  started.defer(() => postgres.stop());
  stopping.throwIfAborted();
  return postgres;
}

interface Places {
  readonly emulator: EmulatorEnvironment;
  readonly postgres: PostgresServer;
  /** The port to which the API will pass requests on. */
  readonly port: number;
}

async function deploy(
  { folder, stopping }: WalkParts,
  { emulator, postgres: { url }, port }: Places,
): Promise<{ whole: Template; adapted: Adapted; stack: Stack }> {
  const secretArn = await ownerSecret(url, emulator);
  const whole = await synthesise(emulator, localstackSettings({ url, secretArn }), folder);
  stopping.throwIfAborted();
  const adapted = withoutLambda(whole, `http://127.0.0.1:${port}`);
  const stack = await createStack(emulator, adapted.template, clock);
  stopping.throwIfAborted();
  return { whole, adapted, stack };
}

/** The smoke test finds LocalStack by variables. A profile, or the endpoint of one service, would win over them. */
function leadClientsTo(emulator: EmulatorEnvironment): void {
  for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) delete process.env[name];
  Object.assign(process.env, emulator);
}

function environmentOfSmoke(whole: Template, { resources, outputs }: Stack, emulator: EmulatorEnvironment) {
  const [apiId] = [...resources.values()].flatMap(({ logicalId, physicalId }) =>
    whole.Resources[logicalId]?.Type === "AWS::ApiGateway::RestApi" ? [physicalId] : [],
  );
  return {
    AWS_REGION: emulator.AWS_REGION,
    CARILLON_URL: `${emulator.AWS_ENDPOINT_URL}/_aws/execute-api/${apiId}/api`,
    CARILLON_TOKEN_SECRET: outputs.AdminTokenSecret,
    INGEST_QUEUE_URL: outputs.IngestQueueUrl,
  };
}

async function inTime(ticked: Promise<void>, stopping: AbortSignal): Promise<void> {
  const late = clock.sleep(TICKED_MS_MAX, stopping).then(() => "late");
  const outcome = await Promise.race([ticked, late]);
  stopping.throwIfAborted();
  if (outcome === "late") throw new Error(`The rule started no tick within ${TICKED_MS_MAX / 1_000} s.`);
}

/** `npm run smoke`, as an operator would run it. */
async function smokeTest(env: Record<string, string>, { started, print }: WalkParts): Promise<void> {
  const child = spawn(process.execPath, [smokeScript], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.defer(() => child.kill());
  child.stdout.setEncoding("utf8").on("data", print);
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error("The smoke test failed.");
}
