import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface DataDir {
  postgres: string;
  sqs: string;
  events: string;
  /** The file with the generated token, which is used when none is configured. */
  tokenFile: string;
  /** The file with the secret that protects the keys of webhook credentials, as KMS does in AWS. */
  vaultFile: string;
  /** The file with the address of the API, for the CLI. */
  urlFile: string;
  /** The file with the ports that `carillon dev` took the last time. */
  portsFile: string;
  release(): void;
}

/** Another process has locked the directory. */
export class DataDirInUse extends Error {
  /** The address of its API; null where it has not left one yet. */
  readonly url: string | null;

  constructor(message: string, url: string | null, options: ErrorOptions) {
    super(message, options);
    this.url = url;
  }
}

/** The directory cannot be used at all; the message says what to do. */
export class DataDirUnusable extends Error {}

/**
 * Locks the directory for this process until it is released, or the process ends in any way.
 * `setBy`: the option or variable that names another directory.
 */
export function openDataDir(directory: string, setBy = "CARILLON_DATA_DIR"): DataDir {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new DataDirUnusable(
      `The data directory ${directory} is a file. Name a directory with ${setBy}; one that does not exist is made.`,
    );
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw unusable(`The data directory ${directory} cannot be made`, setBy, cause);
  }
  return {
    postgres: path.join(directory, "postgres"),
    sqs: path.join(directory, "sqs"),
    events: path.join(directory, "events"),
    tokenFile: path.join(directory, "token"),
    vaultFile: path.join(directory, "webhook-key"),
    urlFile: path.join(directory, "url"),
    portsFile: path.join(directory, "ports"),
    release: lock(directory, setBy),
  };
}

/**
 * A lock of the operating system, which Node can use only through SQLite. Unlike a file with a
 * process id it is never left behind.
 */
function lock(directory: string, setBy: string): () => void {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path.join(directory, "lock"));
    db.exec("pragma busy_timeout = 0; begin exclusive");
    const locked = db;
    keepText(path.join(directory, processFile), String(process.pid));
    return () => locked.close();
  } catch (cause) {
    db?.close();
    if (!isBusy(cause)) throw unusable(`The data directory ${directory} cannot be used`, setBy, cause);
    const remedy = `Stop it first${processIn(directory)}, or set another directory with ${setBy}`;
    const url = addressIn(directory);
    throw new DataDirInUse(
      `Another Carillon is running on the data directory ${directory}${url === null ? "" : `, at ${url}`}. ${remedy}.`,
      url,
      { cause },
    );
  }
}

function unusable(sentence: string, setBy: string, cause: unknown): DataDirUnusable {
  const why = cause instanceof Error ? cause.message : String(cause);
  const remedy = `Let your user read and write it, or name another directory with ${setBy}`;
  return new DataDirUnusable(`${sentence} (${why}). ${remedy}.`, { cause });
}

const processFile = "process";

/** How to stop the running one where it has no terminal, such as after npm was killed. */
function processIn(directory: string): string {
  const file = path.join(directory, processFile);
  const id = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
  return id === "" ? "" : `: Ctrl-C in its terminal, or kill ${id}`;
}

function addressIn(directory: string): string | null {
  const file = path.join(directory, "url");
  return existsSync(file) ? readFileSync(file, "utf8").trim() : null;
}

const sqliteBusy = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === sqliteBusy;
}

/** The random text in this file of the data directory, made at the first start. */
export function keptSecret(file: string): string {
  if (existsSync(file)) return readFileSync(file, "utf8").trim();
  const token = randomBytes(32).toString("base64url");
  keepText(file, token);
  return token;
}

/** Renamed into place: a start that is killed halfway leaves no partial file. */
export function keepText(file: string, text: string): void {
  writeFileSync(`${file}.new`, `${text}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
