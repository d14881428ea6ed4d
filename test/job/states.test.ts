import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sqlState } from "../../lib/db/sql-state.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at } from "../support/instants.ts";

let world: Carillon;
let page: string;

beforeAll(async () => {
  world = await carillon();
  page = await readFile(new URL("../../docs/states.md", import.meta.url), "utf8");
});

afterAll(() => world.stop());

const traits = ["in a parcel", "finished", "started", "an attempt", "a reason"] as const;

/**
 * The table of docs/states.md: for each stored state, whether it has each trait always, never or
 * maybe.
 */
function tableOfPage(): Map<string, string[]> {
  const [top = ""] = page.split("\n## ");
  const rows = top.split("\n").filter((line) => line.startsWith("| "));
  const cells = rows.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  expect(cells[0]).toEqual(["stored state", ...traits]);
  return new Map(cells.slice(1).map(([state = "", ...demands]) => [state.replaceAll("`", ""), demands]));
}

let inserted = 0;

async function isAccepted(state: string, has: readonly boolean[]): Promise<boolean> {
  const [parcel, finished, started, attempt, reason] = has;
  try {
    await world.sql`
      insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, n, parcel_id, finished_at, started_at, attempt, reason)
      values (${at(0)}, 1, ${at(0)}, 1, ${state}, ${++inserted}, ${parcel ? 1 : null}, ${finished ? at(2) : null}, ${started ? at(1) : null},
        ${attempt ? 1 : 0}, ${reason ? "missed" : null})`;
    return true;
  } catch (error) {
    expect(sqlState(error)).toBe("check_violation");
    return false;
  }
}

test("the database accepts a job in exactly the forms that docs/states.md lists", async () => {
  const table = tableOfPage();
  const stored = await world.sql<
    { state: string }[]
  >`select unnest(enum_range(null::carillon.job_state))::text as state`;
  expect([...table.keys()].sort()).toEqual(stored.map(({ state }) => state).sort());
  for (const [state, demands] of table) {
    for (let form = 0; form < 2 ** traits.length; form++) {
      const has = traits.map((_, bit) => (form & (1 << bit)) !== 0);
      const fits = demands.every(
        (demand, index) => demand === "maybe" || (demand === "always") === has[index],
      );
      expect(
        await isAccepted(state, has),
        `${state} with ${traits.filter((_, index) => has[index]).join(", ")}`,
      ).toBe(fits);
    }
  }
});

test("no job is ever stored as started before it was due", async () => {
  await expect(
    world.sql`
      insert into carillon.jobs (occurrence, schedule_id, due_at, version, parcel_id, started_at)
      values (${at(0)}, 2, ${at(10)}, 1, 1, ${at(9)})`,
  ).rejects.toMatchObject({ constraint_name: "jobs_never_early" });
});

test("the diagram shows every state of a job that callers read, and no other", () => {
  const arrows = [...page.matchAll(/^ {2}(\S+) --> ([^\s:]+)/gm)].flatMap(([, from, to]) => [from, to]);
  expect([...new Set(arrows)].filter((state) => state !== "[*]").sort()).toEqual([
    "cancelled",
    "dead",
    "retrying",
    "running",
    "skipped",
    "succeeded",
    "waiting",
  ]);
});
