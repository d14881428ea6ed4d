import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CONNECTION_MIB } from "../../infra/database/memory-budget.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { routes } from "./contract.ts";
import { ownApi } from "./own-api.ts";
import { type Named, requestOf } from "./statement-requests.ts";

const few: Named = { prefix: "few:", count: 50 };

/** The first makes the schedules. The last one lets time pass. */
const first = "POST /v1/schedules:batch";
const last = "POST /v1/schedules/{key}/backfill";

const common = routes
  .filter(({ method, path }) => method === "GET" || path.startsWith("/v1/schedules"))
  .map(({ method, path }) => `${method} ${path}`)
  .filter((name) => name !== first && name !== last);

// Only Linux shows how much memory of a process is its own.
test.runIf(process.platform === "linux")(
  "A connection of the API takes no more memory than the budget counts, with the plans of every read and edit",
  async () => {
    // Tests that run beside it make roles and tables, and each of these makes the server plan again: that
    // only adds memory, once 1.4 MiB. So the least of three connections counts.
    let least = Number.POSITIVE_INFINITY;
    for (let times = 0; times < 3 && least > CONNECTION_MIB.api; times++)
      least = Math.min(least, await memoryOfAll());
    expect(least).toBeLessThanOrEqual(CONNECTION_MIB.api);
    expect(least).toBeGreaterThan(CONNECTION_MIB.api / 2);
  },
  120_000,
);

async function memoryOfAll(): Promise<number> {
  const api = await ownApi({ DATABASE_PREPARE: "on" });
  const send = async (name: string) => {
    const { path, parts } = await requestOf(name, few, api);
    await api.send(name.split(" ")[0] ?? "", path, parts);
  };
  await send(first);
  await api.tick();
  for (const name of [...common, last]) await send(name);
  const memory = await memoryOfApi(api.sql);
  await api.stop();
  return memory;
}

/** Memory of the API's connection in MiB: its own and its page tables, and not the shared buffers. */
async function memoryOfApi(sql: Sql): Promise<number> {
  const backends = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and application_name = 'carillon-api'`;
  expect(backends).toHaveLength(1);
  const kibibytes = (file: string, name: string) =>
    Number(
      new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(
        readFileSync(`/proc/${backends[0]?.pid}/${file}`, "utf8"),
      )?.[1],
    );
  return (kibibytes("smaps_rollup", "Pss_Anon") + kibibytes("status", "VmPTE")) / 1_024;
}
