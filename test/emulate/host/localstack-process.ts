import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Clock } from "../../../lib/clock.ts";
import { freeLoopbackPort } from "../../../lib/tools/local/free-port.ts";

/** The version that the page was made with; others may have other gaps. */
export const pinned = "localstack-core[runtime]==4.14.0";
const version = pinned.replace(/^.*==/, "");
/** Later versions of these packages do not fit to that version. */
const companions = "cbor2==5.7.1 cryptography==45.0.7 pyopenssl==25.3.0 service_identity";

export const variable = "CARILLON_LOCALSTACK";

/** The commands to install and name LocalStack, for a machine where it is missing. */
export function howToInstall(why: string): string {
  return `LocalStack was not started: ${why}. It needs Python 3.13, and neither Docker nor a token. Install it and name its Python:

  python3.13 -m venv .venv-localstack
  .venv-localstack/bin/pip install "${pinned}" ${companions}
  ${variable}=.venv-localstack/bin/python npm run localstack:host`;
}

/** The Python that has LocalStack, or the reason why there is none. */
export function findLocalstack(env: NodeJS.ProcessEnv): { python: string } | { missing: string } {
  const python = env[variable] ?? "";
  if (python === "") return { missing: `${variable} is not set` };
  const program = "from importlib.metadata import version; print(version('localstack-core'))";
  const { status, stdout, error } = spawnSync(python, ["-c", program], { encoding: "utf8" });
  if (error !== undefined) return { missing: `${variable} names ${python}, which cannot be run` };
  if (status !== 0) return { missing: `${python}, which ${variable} names, has no package localstack-core` };
  const found = stdout.trim();
  return found === version ? { python } : { missing: `${python} has version ${found}, and not ${version}` };
}

const STARTS_MS_MAX = 60_000;
/** Its state is deleted anyway. */
const STOPS_MS_MAX = 3_000;
const LOOK_AGAIN_MS = 200;

export interface LocalstackProcess {
  readonly url: string;
  stop(): Promise<void>;
}

/** A new, empty LocalStack in host mode, on a free port of the loopback interface. Its files are in the folder. */
export async function startLocalstack(
  python: string,
  folder: string,
  clock: Clock,
): Promise<LocalstackProcess> {
  const host = `127.0.0.1:${await freeLoopbackPort()}`;
  const logFile = path.join(folder, "localstack.log");
  const log = openSync(logFile, "w");
  const child = spawn(python, ["-m", "localstack.runtime.main"], {
    env: environmentOf(host, folder),
    stdio: ["ignore", log, log],
  });
  const exited = once(child, "exit");
  const stop = async () => {
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), STOPS_MS_MAX);
    await exited;
    clearTimeout(late);
  };
  for (let waited = 0; !(await answers(`http://${host}/_localstack/health`)); waited += LOOK_AGAIN_MS) {
    if (child.exitCode !== null || child.signalCode !== null || waited > STARTS_MS_MAX) {
      if (child.exitCode === null && child.signalCode === null) await stop();
      throw new Error(`LocalStack does not answer at ${host}. Its log ends with:\n${endOf(logFile)}`);
    }
    await clock.sleep(LOOK_AGAIN_MS);
  }
  return { url: `http://${host}`, stop };
}

/**
 * LocalStack inherits nothing but the PATH: a profile or a token of AWS does not belong there. Its usual server,
 * Twisted, would listen on all interfaces. Queues' addresses have a numeric host, which needs no name server.
 */
function environmentOf(host: string, folder: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    HOME: folder,
    TMPDIR: folder,
    GATEWAY_LISTEN: host,
    GATEWAY_SERVER: "hypercorn",
    LOCALSTACK_HOST: host,
    SQS_ENDPOINT_STRATEGY: "path",
    DNS_ADDRESS: "0",
    DISABLE_EVENTS: "1",
    SKIP_SSL_CERT_DOWNLOAD: "1",
  };
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

function endOf(file: string): string {
  return readFileSync(file, "utf8").trim().split("\n").slice(-5).join("\n");
}
