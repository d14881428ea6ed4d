import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { problemsAnswer } from "../../lib/api/views/problem-shape.ts";
import { setAside } from "../../lib/quarantine/quarantine.ts";
import { second } from "../support/instants.ts";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;

beforeAll(async () => {
  cli = await ownCli();
  await cli.api.tick();
});

afterAll(() => cli.stop());

/** The address of the API's database for another program's login. */
async function otherLogin(user: string): Promise<string> {
  await cli.api.sql.unsafe(`create role ${user} login password 'test'`);
  const [row] = await cli.api.sql<{ name: string }[]>`select current_database() as name`;
  const parts = { username: user, password: "test", pathname: `/${row?.name}` };
  return Object.assign(new URL(inject("postgresUrl")), parts).href;
}

test("carillon status names locks of another login in its headline, and the article that ends them", async () => {
  const user = `reports_${randomBytes(6).toString("hex")}`;
  const sql = postgres(await otherLogin(user), { max: 1 });
  try {
    await sql`select pg_advisory_lock(2, 3)`;
    const { out, code } = await cli.carillon(["status"]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^Jobs are on time, and edits may be stopped\. 1 session of another program holds .*reports.*\n {2}since .*\n {2}docs\/runbook\.md#database-locks-held\n$/,
    );
  } finally {
    await sql.end();
  }
});

test("carillon status prints the verdict and each problem with its command, and its exit code is that of the verdict", async () => {
  const fine = await cli.carillon(["status", "--strict"]);
  expect(fine).toMatchObject({ code: 0, err: "" });
  expect(fine.out).toMatch(/^On time\. \(2026-03-02 10:00:\d\d UTC\)\nNothing needs attention\.\n$/);
  await setAside(cli.api.sql, "ended", [{ item: "7", error: new Error("no") }]);
  expect((await cli.carillon(["status"])).code).toBe(0);
  const attention = await cli.carillon(["status", "--strict", "--timezone", "Europe/Berlin"]);
  expect(attention).toMatchObject({ code: 11, err: "" });
  expect(attention.out).toMatch(
    /\nCarillon failed on 1 row and retries them\.\n {2}since 2026-03-02 11:00:\d\d \(.*\), such as row ended\/7\n {2}carillon quarantine\n$/,
  );
  await cli.api.clock.advance(200 * second);
  const told = await cli.carillon(["status"]);
  expect(told.out.match(/No tick has ended since/g)).toHaveLength(1);
  expect(told.out).toMatch(
    /^Stopped\. No tick has ended .*\n {2}since .*\n {2}carillon stats\n\nCarillon failed on/,
  );
  const stopped = await cli.carillon(["status", "--json"]);
  expect(stopped).toMatchObject({ code: 13, err: "" });
  expect(problemsAnswer.parse(JSON.parse(stopped.out))).toMatchObject({
    verdict: "stopped",
    problems: [{ kind: "no-tick" }, { kind: "quarantine" }],
  });
});
