import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type BorrowedDatabase, borrowDatabase } from "../../lib/tools/testing/server/borrow-database.ts";
import { testCarillon } from "../../lib/tools/testing/test-carillon.ts";
import { until } from "../support/until.ts";

const kitModule = path.join(import.meta.dirname, "..", "..", "lib", "tools", "testing", "test-carillon.ts");

let folder: string;
/** Starts the server, and keeps it while the tests run. */
let first: BorrowedDatabase;
let sql: Sql;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "kit-"));
  process.env["CARILLON_TEST_DIR"] = folder;
  first = await borrowDatabase();
  sql = connect({ DATABASE_URL: first.url });
}, 100_000);

afterAll(async () => {
  await sql.end();
  first.giveBack();
  process.kill(first.pid, "SIGTERM");
  await until("the server has ended", async () => !isAlive(first.pid));
  await rm(folder, { recursive: true, force: true });
  delete process.env["CARILLON_TEST_DIR"];
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const databases = async () =>
  (await sql<{ name: string }[]>`select datname as name from pg_database where starts_with(datname, 'test_')`)
    .length;

/** A process of an app's tests, which prints the jobs of an hour. */
function testProcess(after: string): ChildProcess {
  const module = `
    import { testCarillon } from ${JSON.stringify(kitModule)};
    const carillon = await testCarillon({ now: "2027-03-27T12:00:00Z" });
    await carillon.put("a", { when: "every 20m", target: { queue: "demo" } });
    await carillon.advance("1h");
    console.log(carillon.jobs("a").length);
    ${after}`;
  return spawn(process.execPath, ["--input-type=module", "--eval", module], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

async function printed(child: ChildProcess): Promise<string> {
  let text = "";
  child.stdout?.on("data", (part) => {
    text += String(part);
  });
  await once(child, "close");
  return text.trim();
}

test("Processes side by side get a database each from one server, and end by themselves", async () => {
  const both = [testProcess("await carillon.stop();"), testProcess("await carillon.stop();")];
  expect(await Promise.all(both.map(printed))).toEqual(["3", "3"]);
  await until("their databases are dropped", async () => (await databases()) === 1);
});

test("The database of a test process that is killed is dropped", async () => {
  const child = testProcess("setInterval(() => {}, 1_000);");
  await once(child.stdout ?? child, "data");
  expect(await databases()).toBe(2);
  child.kill("SIGKILL");
  await until("its database is dropped", async () => (await databases()) === 1);
});

test("A test that forgets to stop does not keep its connections, which would hold its process", async () => {
  const forgotten = await testCarillon();
  // Idle for less time than any connection by default, and longer than those of the kit.
  const longer = connect({ DATABASE_URL: first.url }, { idleMs: 10_000, applicationName: "idles-longer" });
  await longer`select`;
  const held = async () =>
    (
      await sql<{ name: string }[]>`
        select distinct application_name as name from pg_stat_activity
        where application_name in ('carillon-test', 'idles-longer')`
    ).map(({ name }) => name);
  await until("the kit holds no connection", async () => !(await held()).includes("carillon-test"));
  expect(await held()).toEqual(["idles-longer"]);
  await longer.end();
  await forgotten.put("a", { when: "every 20m", target: { queue: "demo" } });
  await forgotten.advance("1h");
  expect(forgotten.jobs("a")).toHaveLength(3);
  await forgotten.stop();
});
