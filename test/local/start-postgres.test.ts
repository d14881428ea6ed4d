import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import postgres from "postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { type PostgresServer, startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";

const quick = { fsync: "off", shared_buffers: "16MB" };
let folder: string;
let server: PostgresServer | undefined;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "carillon pg "));
});

afterEach(async () => {
  await server?.stop();
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});

async function ask(url: string, statement: string): Promise<unknown[]> {
  const sql = postgres(url, { max: 1, connect_timeout: 5 });
  try {
    return [...(await sql.unsafe(statement))];
  } finally {
    await sql.end();
  }
}

function spawnOwner(searchPath: string): ChildProcessByStdio<null, Readable, null> {
  return spawn(process.execPath, [path.join(import.meta.dirname, "own-postgres.ts"), folder], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, PATH: searchPath },
  });
}

describe("startPostgres", () => {
  test("startPostgres creates a cluster in a folder with blanks in its name, and keeps its rows over a stop and a start", async () => {
    server = await startPostgres({ dataDir: folder, settings: quick });
    await ask(server.url, "create table kept as select 1 as n");
    await server.stop();
    server = await startPostgres({ dataDir: folder, settings: quick });
    expect(await ask(server.url, "select n from kept")).toEqual([{ n: 1 }]);
  });

  test("startPostgres runs version 18 in UTC with UTF-8 and the requested settings", async () => {
    server = await startPostgres({ dataDir: folder, settings: { ...quick, max_connections: "17" } });
    const shown = await ask(
      server.url,
      `select current_setting('server_version_num')::int / 10000 as version, current_setting('timezone') as zone,
              current_setting('server_encoding') as encoding, current_setting('max_connections') as connections`,
    );
    expect(shown).toEqual([{ version: 18, zone: "UTC", encoding: "UTF8", connections: "17" }]);
  });

  test("startPostgres refuses connections without the password, which only its owner can read", async () => {
    server = await startPostgres({ dataDir: folder, settings: quick });
    const guessed = new URL(server.url);
    guessed.password = "guess";
    await expect(ask(guessed.href, "select 1")).rejects.toMatchObject({ code: "28P01" });
    expect(statSync(path.join(folder, "password")).mode & 0o777).toBe(0o600);
  });

  test("startPostgres works inside a folder that only its owner may enter", async () => {
    const inner = path.join(folder, "private", "data");
    mkdirSync(path.dirname(inner));
    chmodSync(path.dirname(inner), 0o700);
    server = await startPostgres({ dataDir: inner, settings: quick });
    expect(await ask(server.url, "select 1 as n")).toEqual([{ n: 1 }]);
  });

  test("startPostgres listens on a socket in its own folder, and on the loopback interface where the folder's name is too long for a socket", async () => {
    const through = async (url: string) => {
      const sql = connect({ DATABASE_URL: url });
      try {
        const [row] = await sql`select inet_client_addr() is null as by_socket, current_user as user`;
        return row;
      } finally {
        await sql.end();
      }
    };
    server = await startPostgres({ dataDir: folder, settings: quick });
    expect(await through(server.url)).toEqual({ by_socket: false, user: "postgres" });
    expect(await through(server.socketUrl)).toEqual({ by_socket: true, user: "postgres" });
    await server.stop();
    const long = path.join(folder, "x".repeat(80));
    server = await startPostgres({ dataDir: long, settings: quick });
    expect(await through(server.socketUrl)).toEqual({ by_socket: false, user: "postgres" });
  });

  test("startPostgres removes the sockets of servers that were killed", async () => {
    server = await startPostgres({ dataDir: folder, settings: quick });
    await server.stop();
    const left = path.join(folder, "cluster", ".s.PGSQL.1");
    writeFileSync(left, "");
    server = await startPostgres({ dataDir: folder, settings: quick });
    expect(existsSync(left)).toBe(false);
  });

  test("startPostgres starts over when an earlier creation of the cluster was killed halfway", async () => {
    mkdirSync(path.join(folder, "cluster-new"));
    writeFileSync(path.join(folder, "cluster-new", "half"), "");
    server = await startPostgres({ dataDir: folder, settings: quick });
    expect(existsSync(path.join(folder, "cluster", "half"))).toBe(false);
  });

  test("startPostgres refuses a cluster of another version with a message that names the remedy", async () => {
    mkdirSync(path.join(folder, "cluster"));
    writeFileSync(path.join(folder, "cluster", "PG_VERSION"), "15\n");
    await expect(startPostgres({ dataDir: folder })).rejects.toThrow(/has version 15, not 18\. Remove/);
  });

  test("startPostgres names the programs that cannot be run, when others than npm's are configured", async () => {
    const programs = path.join(folder, "bin");
    await expect(startPostgres({ dataDir: folder, programs })).rejects.toThrow(
      `${path.join(programs, "postgres")} cannot be run`,
    );
  });

  test("startPostgres reports why the server did not start", async () => {
    const starting = startPostgres({ dataDir: folder, settings: { shared_buffers: "plenty" } });
    await expect(starting).rejects.toThrow(/did not start.*shared_buffers/);
  });

  test("startPostgres ignores a process id that was given to another process since", async () => {
    server = await startPostgres({ dataDir: folder, settings: quick });
    await server.stop();
    writeFileSync(path.join(folder, "cluster", "postmaster.pid"), `${process.pid}\n${folder}\n`);
    server = await startPostgres({ dataDir: folder, settings: quick });
    expect(await ask(server.url, "select 1 as n")).toEqual([{ n: 1 }]);
  });

  test("startPostgres starts again when owner and server were killed together", async () => {
    const owner = spawnOwner(process.env["PATH"] ?? "");
    const [url] = await once(createInterface(owner.stdout), "line");
    await ask(String(url), "create table kept as select 1 as n");
    const [serverPid] = readFileSync(path.join(folder, "cluster", "postmaster.pid"), "utf8").split("\n");
    process.kill(Number(serverPid), "SIGKILL");
    owner.kill("SIGKILL");
    await once(owner, "exit");
    server = await startPostgres({ dataDir: folder, settings: quick });
    expect(await ask(server.url, "select n from kept")).toEqual([{ n: 1 }]);
  });

  test.each([
    ["its parent-death signal", process.env["PATH"] ?? ""],
    ["the next start alone", "/a-path-without-setpriv"],
  ])("Postgres starts again after kill -9 of its owning process, helped by %s", async (_, searchPath) => {
    const owner = spawnOwner(searchPath);
    const [url] = await once(createInterface(owner.stdout), "line");
    await ask(String(url), "create table kept as select 1 as n");
    owner.kill("SIGKILL");
    await once(owner, "exit");
    server = await startPostgres({ dataDir: folder, settings: quick });
    expect(await ask(server.url, "select n from kept")).toEqual([{ n: 1 }]);
  });
});
