import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { PassThrough, Readable } from "node:stream";
import { run } from "../../lib/cli/run.ts";
import { secretFile } from "../../lib/cli/secret-file.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Environment } from "../../lib/config/environment.ts";
import { startHttp } from "../../lib/tools/local/lambda/start-http.ts";
import { type OwnApi, ownApi } from "../api/own-api.ts";
import { noPage } from "../support/no-page.ts";
import { recordedLog } from "../support/recorded-log.ts";

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

export interface CliParts {
  env?: Record<string, string>;
  input?: string;
  /** The answer to a confirmation; without it there is no terminal. */
  answer?: string;
  /** Runs while the confirmation is pending, and returns the answer. */
  answered?: () => Promise<string>;
  tty?: { width: number };
  /** Aborted by a test that kills the command. */
  signal?: AbortSignal;
}

export interface Apart {
  cwd?: string;
  interruptWhen?: string;
  /** The built program, where the source is not run. */
  program?: string;
}

/** The CLI over the real API, over HTTP. */
export interface OwnCli {
  api: OwnApi;
  url: string;
  /** Runs in this process. */
  carillon(args: readonly string[], parts?: CliParts): Promise<Ended>;
  /** Runs as a separate process, as `npx carillon` starts it. */
  spawned(args: readonly string[], parts?: CliParts & Apart): Promise<Ended>;
  stop(): Promise<void>;
}

const main = path.join(import.meta.dirname, "..", "..", "lib", "cli", "main.ts");

/** `settings` are further variables of the API's function. */
export async function ownCli(settings: Environment = {}): Promise<OwnCli> {
  const api = await ownApi(settings);
  const log = recordedLog();
  const http = await startHttp({
    port: 0,
    clock: systemClock,
    log,
    page: noPage,
    api: {
      name: "api",
      concurrency: 1,
      renew: () => {},
      close: async () => {},
      invoke: async (event) => {
        const headers: Record<string, string> = {};
        for (const [name, value] of Object.entries(event.headers))
          if (value !== undefined) headers[name] = value;
        const { isBase64Encoded, body, rawQueryString: query } = event;
        const { method } = event.requestContext.http;
        const answer = await api.send(method, event.rawPath, {
          as: "",
          query,
          headers,
          body,
          isBase64Encoded,
        });
        return { statusCode: answer.status, headers: answer.headers, body: answer.body };
      },
    },
  });
  const environment = { CARILLON_URL: http.url, CARILLON_TOKEN: "admin-token", TZ: "UTC" };
  return {
    api,
    url: http.url,
    carillon: (args, parts = {}) => runHere(args, parts, environment, api.clock),
    spawned: (args, parts = {}) => runApart(args, parts, environment, api.clock),
    stop: async () => {
      await http.close(100);
      await api.stop();
    },
  };
}

async function runHere(
  args: readonly string[],
  { env = {}, input = "", answer, answered, tty, signal }: CliParts,
  environment: Record<string, string>,
  clock: Clock,
): Promise<Ended> {
  let [out, err] = ["", ""];
  const code = await run(args, {
    terminal: {
      write: (text) => {
        out += text;
      },
      note: (text) => {
        err += text;
      },
      isTty: tty !== undefined,
      width: tty?.width,
    },
    env: { ...environment, ...env },
    version: "0.0.0",
    signal: signal ?? new AbortController().signal,
    now: () => clock.now().getTime(),
    pause: async () => {},
    read: async (file) => (file !== "-" && existsSync(file) ? readFileSync(file, "utf8") : input),
    secretFile,
    programs: { run: async () => 0, read: async () => ({ code: 0, out: "", err: "" }) },
    streams: () => ({ input: Readable.from([]), output: new PassThrough() }),
    ask: async () => (await answered?.()) ?? answer ?? null,
  });
  return { code, out, err };
}

async function runApart(
  args: readonly string[],
  { env = {}, input = "", cwd, interruptWhen, program = main }: CliParts & Apart,
  environment: Record<string, string>,
  clock: Clock,
): Promise<Ended> {
  const child = spawn(process.execPath, ["--import", withTimeOf(clock), program, ...args], {
    env: { PATH: process.env["PATH"], ...environment, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    if (interruptWhen !== undefined && out.includes(interruptWhen)) child.kill("SIGINT");
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, out, err };
}

/** A module that gives a process the API's time. */
function withTimeOf(clock: Clock): string {
  const ahead = clock.now().getTime() - Date.now();
  return `data:text/javascript,const now = Date.now; Date.now = () => now() + ${ahead};`;
}
