import { readFileSync } from "node:fs";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { severityOf } from "../infra/watch/severity.ts";
import { synthesised } from "./infra/synthesised.ts";
import { testDatabase } from "./support/database.ts";

const text = readFileSync(new URL("../docs/runbook.md", import.meta.url), "utf8");
const articles = (text.split(/^## /m).find((part) => part.startsWith("Alarms\n")) ?? "")
  .split(/^### /m)
  .slice(1);
const anchorOf = (article: string) => (article.split("\n")[0] ?? "").toLowerCase().replaceAll(" ", "-");

describe("the runbook", () => {
  let linked: string[];

  beforeAll(() => {
    const runbookUrl = "https://wiki.example.com/runbook";
    // Each kind of database has alarms of its own.
    linked = [{}, { database: "aurora", databaseProxy: true, archiveBucket: "ledger" }]
      .flatMap((settings) => synthesised({ ...settings, runbookUrl }).ofType("AWS::CloudWatch::Alarm"))
      .map(([, { Properties }]) => String(Properties["AlarmDescription"]))
      .map((description) => / https:\/\/wiki\.example\.com\/runbook#([a-z-]+)$/.exec(description)?.[1] ?? "");
  });

  test("the runbook has an article for each alarm, and an alarm for each article", () => {
    expect(articles.map(anchorOf).toSorted()).toEqual([...new Set(linked)].toSorted());
    expect(articles.length).toBeGreaterThan(10);
  });

  test.each(articles)(
    "an article of the runbook says what the alarm means, where to look, what to do and what not to do: %s",
    (article) => {
      const parts = [...article.matchAll(/^\*\*(It means|Look at|Do|Do not)\*\*/gm)].map(([, part]) => part);
      expect(parts).toEqual(["It means", "Look at", "Do", "Do not"]);
    },
  );

  test.each(articles)("an article of the runbook has the severity of its alarm: %s", (article) => {
    const [, , severity] = article.split("\n");
    expect(severity).toBe(`Severity: ${severityOf(anchorOf(article))}.`);
  });
});

/** The role is made by several statements; each other block is one query. */
const blocks = [...text.matchAll(/^```sql\n(.*?)^```/gms)].map(([, block = ""]) => block);
const roles = blocks.filter((block) => block.startsWith("create role"));
const queries = blocks.filter((block) => block.startsWith("select"));

test("every block of SQL in the runbook is a query, or makes the login for queries", () => {
  expect(queries.length).toBeGreaterThan(5);
  expect(roles).toHaveLength(1);
  expect(queries.length + roles.length).toBe(blocks.length);
});

describe("a migrated database", () => {
  let sql: postgres.Sql;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const database = await testDatabase();
    sql = postgres(database.url, { max: 1 });
    drop = async () => {
      await sql.end();
      await database.drop();
    };
  });

  afterAll(() => drop());

  test("every query of the runbook runs on a migrated database", async () => {
    for (const query of queries) await sql.unsafe(query);
  });

  test("the login of the runbook runs its queries, and reads no token", async () => {
    // Roles belong to the whole server, so the transaction that makes the login is rolled back.
    const refused = sql.begin(async (tx) => {
      await tx.unsafe(roles.join("\n"));
      await tx`set local role oncall`;
      for (const query of queries) await tx.unsafe(query);
      expect(await tx`select pg_has_role('pg_signal_backend', 'usage') as ends`).toEqual([{ ends: true }]);
      await tx`select hash from carillon.tokens`;
    });
    await expect(refused).rejects.toThrow("permission denied for table tokens");
  });
});
