import { readFileSync } from "node:fs";
import path from "node:path";
import { Carillon, CarillonProblem, type Retrying } from "../client/main.ts";
import { UsageFault } from "./fault.ts";
import { printable } from "./output/style.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface ConnectionParams {
  url: string | undefined;
  tokenFile: string | undefined;
  env: Environment;
  version: string;
  note: (text: string) => void;
}

/** Where the API answers: as it is said, else where `npm start` listens. */
export function apiUrl(url: string | undefined, env: Environment): string {
  const said = url ?? filled(env["CARILLON_URL"]);
  if (said !== undefined) return said;
  return `http://127.0.0.1:${filled(env["CARILLON_PORT"]) ?? "8787"}`;
}

export function connect(params: ConnectionParams): Carillon {
  const url = apiUrl(params.url, params.env);
  const isLocal = isLoopback(url);
  if (/^http:/i.test(url) && !isLocal)
    params.note(`${url} is not encrypted: the token can be read on the way. Use https.`);
  const token = tokenFor(params, isLocal);
  try {
    // Somebody waits: what does not answer is told of sooner than a program would be.
    return new Carillon({
      url,
      token,
      retries: 2,
      onRetry: (retrying) => tellWait(retrying, params.note),
      headers: { "user-agent": `carillon-cli/${params.version}` },
    });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageFault(`CARILLON_URL or --url: ${error.message}.`);
    throw error;
  }
}

/** What is over sooner needs no word. */
const toldFromMs = 1_000;

function tellWait({ waitMs, error }: Retrying, note: (text: string) => void): void {
  if (waitMs < toldFromMs) return;
  const asked = error instanceof CarillonProblem && error.retryAfterMs !== undefined;
  const why = asked ? `It asks to wait (${error.status})` : printable(error.message);
  note(`${why}: trying again in ${Math.ceil(waitMs / 1_000)} s.`);
}

/** Never from the command line itself: others on the machine can read that, and shells remember it. */
function tokenFor({ tokenFile, env }: ConnectionParams, isLocal: boolean): string {
  if (tokenFile !== undefined) return presentable(readToken(tokenFile), tokenFile);
  const said = filled(env["CARILLON_TOKEN"]);
  if (said !== undefined) return presentable(said.trim(), "CARILLON_TOKEN");
  const kept = path.resolve(filled(env["CARILLON_DATA_DIR"]) ?? ".carillon", "token");
  // The local token is nobody else's business, wherever CARILLON_URL leads.
  const found = isLocal ? tokenIn(kept) : undefined;
  if (found !== undefined) return presentable(found, kept);
  throw new UsageFault(
    isLocal
      ? `A token is needed: in CARILLON_TOKEN, in a file that --token-file names, or in ${kept}, where \`npm start\` keeps it.`
      : "A token is needed: in CARILLON_TOKEN, or in a file that --token-file names.",
  );
}

function readToken(file: string): string {
  const token = tokenIn(file);
  if (token === undefined) throw new UsageFault(`The token file ${file} cannot be read.`);
  return token;
}

function tokenIn(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}

/** What a header cannot carry is refused here, without repeating it. */
function presentable(token: string, from: string): string {
  if (/^[\x21-\x7e]{1,4096}$/.test(token)) return token;
  throw new UsageFault(`${from} holds no token: printable ASCII characters without blanks are taken.`);
}

export function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function filled(value: string | undefined): string | undefined {
  return value === undefined || value === "" ? undefined : value;
}
