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
  /** Default: 2. */
  retries?: number;
}

/**
 * The address of the API: as given, or else that of `npm start`, which it leaves in its data
 * directory.
 */
export function apiUrl(url: string | undefined, env: Environment): string {
  const given = url ?? filled(env["CARILLON_URL"]);
  if (given !== undefined) return given;
  const port = filled(env["CARILLON_PORT"]);
  const kept = port === undefined ? textIn(inDataDir(env, "url")) : undefined;
  return kept ?? `http://127.0.0.1:${port ?? "8787"}`;
}

/** Whether a local stack has run in this folder, or is named by its port. */
export function hasLocalApi(env: Environment): boolean {
  return filled(env["CARILLON_PORT"]) !== undefined || textIn(inDataDir(env, "url")) !== undefined;
}

function inDataDir(env: Environment, file: string): string {
  return path.resolve(filled(env["CARILLON_DATA_DIR"]) ?? ".carillon", file);
}

export function connect(params: ConnectionParams): Carillon {
  const url = apiUrl(params.url, params.env);
  const isLocal = isLoopback(url);
  if (/^http:/i.test(url) && !isLocal)
    params.note(`${url} is not encrypted: the token can be read on the way. Use https.`);
  const token = tokenFor(params, isLocal);
  try {
    // Fewer retries than the client's default, because a person waits for the answer.
    return new Carillon({
      url,
      token,
      retries: params.retries ?? 2,
      onRetry: (retrying) => noteWait(retrying, params.note),
      headers: { "user-agent": `carillon-cli/${params.version}` },
    });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageFault(`CARILLON_URL or --url: ${error.message}.`);
    throw error;
  }
}

/** Shorter waits are not reported. */
const notedFromMs = 1_000;

function noteWait({ waitMs, error }: Retrying, note: (text: string) => void): void {
  if (waitMs < notedFromMs) return;
  const isRequested = error instanceof CarillonProblem && error.retryAfterMs !== undefined;
  const why = isRequested ? `The API asked to wait (${error.status})` : printable(error.message);
  note(`${why}: retrying in ${Math.ceil(waitMs / 1_000)} s.`);
}

/**
 * Finds the token to send. A token is never an argument: other users of the machine can read the
 * command line, and shells store it.
 */
function tokenFor({ tokenFile, env }: ConnectionParams, isLocal: boolean): string {
  if (tokenFile !== undefined) return presentable(readToken(tokenFile), tokenFile);
  const given = filled(env["CARILLON_TOKEN"]);
  if (given !== undefined) return presentable(given.trim(), "CARILLON_TOKEN");
  const kept = inDataDir(env, "token");
  // The local token is sent only to this machine, wherever CARILLON_URL points.
  const found = isLocal ? textIn(kept) : undefined;
  if (found !== undefined) return presentable(found, kept);
  throw new UsageFault(
    isLocal
      ? `A token is needed: in CARILLON_TOKEN, in the file given by --token-file, or in ${kept}, where \`npm start\` stores it.`
      : "A token is needed: in CARILLON_TOKEN, or in the file given by --token-file.",
  );
}

function readToken(file: string): string {
  const token = textIn(file);
  if (token === undefined) throw new UsageFault(`The token file ${file} cannot be read.`);
  return token;
}

function textIn(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}

/** Refuses a token that a header cannot carry, without repeating it. */
function presentable(token: string, from: string): string {
  if (/^[\x21-\x7e]{1,4096}$/.test(token)) return token;
  throw new UsageFault(`${from} has no valid token: it must be printable ASCII without blanks.`);
}

export function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function filled(value: string | undefined): string | undefined {
  return value === undefined || value === "" ? undefined : value;
}
