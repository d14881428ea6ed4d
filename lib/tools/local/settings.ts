import path from "node:path";
import { isOrigin, originForm } from "../../config/cors-origins.ts";
import { type Environment, integer } from "../../config/environment.ts";
import { lifecycleFrom } from "../../config/lifecycle.ts";
import { pageNameForm, pageNamePattern } from "../../config/page-name.ts";
import { ingestPrefixForm, ingestPrefixPattern } from "../../config/prefix-rates.ts";
import { type PrefixWeight, parsePrefixWeights } from "../../config/prefix-weights.ts";
import { parseQuotas, type QuotaLimit } from "../../config/quota-setting.ts";
import { eventSourcesFrom, parseTargetPrefix } from "../../config/target-settings.ts";
import { reachFrom } from "../../webhook/reach.ts";
import { hostForm, isHost } from "./callers.ts";

/** The settings of `npm start`, from its environment. */
export interface LocalSettings {
  ports: { api: number; sqs: number; events: number };
  dataDir: string;
  /** The first admin token. Default: generated once and kept in the data directory. */
  token: string | undefined;
  /** A Postgres to use instead of the embedded one. */
  databaseUrl: string | undefined;
  /**
   * Whether the functions prepare statements by name; "off" when a pooler in front of that Postgres
   * shares its sessions.
   */
  databasePrepare: string | undefined;
  /** The private addresses that webhooks may reach, as `host:port` separated by commas. */
  webhookAllow: string | undefined;
  /** The sources of events that schedules may use, separated by commas. */
  eventSources: string | undefined;
  /** The targets that only schedules of some keys may name. */
  targetPrefixes: readonly string[];
  /**
   * The events to publish on the local bus: `LIFECYCLE_EVENTS` and `CARILLON_EVENTS_BUS`, as the
   * functions read them.
   */
  lifecycle: Environment;
  /** The most that callers of each prefix may have. */
  quotas: readonly QuotaLimit[];
  /** The weights of prefixes with many jobs due at once. */
  prefixWeights: readonly PrefixWeight[];
  /** The beginning of the keys that the queue of commands reaches. Default: it reaches all keys. */
  ingestPrefix: string | undefined;
  /** The origins whose pages may call the API, separated by commas. */
  corsOrigins: string | undefined;
  /** Names of this machine, besides those of the loopback interface, to which its ports answer. */
  hosts: readonly string[];
  /** The module that exports the app's handlers. Default: the examples of this repository. */
  handlersFile: string | undefined;
  /** The name on the page, in its bar and in the titles of its tabs. */
  pageName: string;
  /** A Lambda emulator for the functions that `lambda` targets name. */
  lambdaUrl: string | undefined;
  /** The form of the functions' logs, as `CARILLON_LOG` names it. */
  functionLog: "text" | "json" | "brief";
  /** The option that allows webhooks to a private address, for the sentence of a refusal. */
  webhookAdvice: string | undefined;
}

const portBounds = { min: 0, max: 65_535 };

/** The variable of each port. Port 0 picks a free one. */
export const portVariables = {
  api: "CARILLON_PORT",
  sqs: "CARILLON_SQS_PORT",
  events: "CARILLON_EVENTS_PORT",
} as const;

export function readSettings(env: Environment): LocalSettings {
  return {
    ports: {
      api: integer(env, portVariables.api, 8787, portBounds),
      sqs: integer(env, portVariables.sqs, 8788, portBounds),
      events: integer(env, portVariables.events, 8789, portBounds),
    },
    dataDir: path.resolve(given(env, "CARILLON_DATA_DIR") ?? ".carillon"),
    token: readToken(given(env, "CARILLON_TOKEN")),
    databaseUrl: given(env, "DATABASE_URL"),
    databasePrepare: readDatabasePrepare(given(env, "DATABASE_PREPARE")),
    webhookAllow: readWebhookAllow(env),
    eventSources: readEventSources(env),
    targetPrefixes: readEntries(env, "CARILLON_TARGET_PREFIXES", checkedTargetPrefixes),
    lifecycle: readLifecycle(env),
    quotas: readEntries(env, "CARILLON_QUOTAS", parseQuotas),
    prefixWeights: readEntries(env, "CARILLON_PREFIX_WEIGHTS", parsePrefixWeights),
    ingestPrefix: readIngestPrefix(given(env, "INGEST_PREFIX")),
    corsOrigins: readCorsOrigins(given(env, "CARILLON_CORS_ORIGINS")),
    hosts: readHosts(given(env, "CARILLON_HOSTS")),
    handlersFile: absolute(given(env, "CARILLON_HANDLERS")),
    pageName: readPageName(given(env, "CARILLON_PAGE_NAME") ?? "local"),
    lambdaUrl: readLambdaUrl(given(env, "CARILLON_LAMBDA_URL")),
    functionLog: "text",
    webhookAdvice: undefined,
  };
}

function readToken(token: string | undefined): string | undefined {
  if (token === undefined || /^[\x21-\x7e]{1,4096}$/.test(token)) return token;
  throw new Error(
    "The environment variable CARILLON_TOKEN takes 1 to 4096 printable ASCII characters without blanks.",
  );
}

function readDatabasePrepare(prepare: string | undefined): string | undefined {
  if (prepare === undefined || prepare === "on" || prepare === "off") return prepare;
  throw new Error('The environment variable DATABASE_PREPARE takes "on" or "off".');
}

/** Checked when the stack starts, so that a mistake shows before the first webhook. */
function readWebhookAllow(env: Environment): string | undefined {
  const value = given(env, "CARILLON_WEBHOOK_ALLOW");
  reachFrom({ CARILLON_WEBHOOK_ALLOW: value });
  return value;
}

/** Checked when the stack starts, like the setting for webhooks. */
function readEventSources(env: Environment): string | undefined {
  eventSourcesFrom(env);
  return given(env, "CARILLON_TARGET_EVENT_SOURCES");
}

/** Checked when the stack starts, and read again by its functions. */
function checkedTargetPrefixes(texts: readonly string[]): string[] {
  for (const text of texts) parseTargetPrefix(text);
  return [...texts];
}

/** Checked when the stack starts, too. */
function readLifecycle(env: Environment): Environment {
  const { notify, bus } = lifecycleFrom(env);
  return { LIFECYCLE_EVENTS: notify.length === 0 ? "none" : notify.join(","), CARILLON_EVENTS_BUS: bus };
}

function readEntries<T>(env: Environment, name: string, parse: (texts: readonly string[]) => T[]): T[] {
  const text = given(env, name);
  try {
    return parse(text === undefined ? [] : text.split(",").map((entry) => entry.trim()));
  } catch (error) {
    throw new Error(
      `The environment variable ${name}: ${error instanceof Error ? error.message : String(error)}.`,
    );
  }
}

function readIngestPrefix(prefix: string | undefined): string | undefined {
  if (prefix === undefined || ingestPrefixPattern.test(prefix)) return prefix;
  throw new Error(`The environment variable INGEST_PREFIX: ${ingestPrefixForm}.`);
}

function readCorsOrigins(origins: string | undefined): string | undefined {
  if (origins === undefined || origins.split(",").every(isOrigin)) return origins;
  throw new Error(`The environment variable CARILLON_CORS_ORIGINS: ${originForm}, with commas between them.`);
}

function readHosts(text: string | undefined): readonly string[] {
  const hosts = text?.split(",") ?? [];
  const wrong = hosts.find((host) => !isHost(host));
  if (wrong === undefined) return hosts.map((host) => host.toLowerCase());
  throw new Error(`The environment variable CARILLON_HOSTS has ${JSON.stringify(wrong)}; ${hostForm}.`);
}

function readPageName(name: string): string {
  if (pageNamePattern.test(name)) return name;
  throw new Error(`The environment variable CARILLON_PAGE_NAME: ${pageNameForm}.`);
}

function readLambdaUrl(url: string | undefined): string | undefined {
  if (url === undefined || URL.parse(url)?.protocol === "http:") return url;
  throw new Error(
    "The environment variable CARILLON_LAMBDA_URL takes the URL of an emulator of Lambda, such as http://127.0.0.1:3001.",
  );
}

const absolute = (file: string | undefined) => (file === undefined ? undefined : path.resolve(file));

function given(env: Environment, variable: string): string | undefined {
  const value = env[variable];
  return value === "" ? undefined : value;
}
