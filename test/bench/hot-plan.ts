import { readFile } from "node:fs/promises";
import { connect, type Sql } from "../../lib/db/connect.ts";
import type { BenchStack } from "./bench-stack.ts";

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "CTE Name"?: string;
  "Subplan Name"?: string;
  "Actual Rows"?: number;
  "Actual Loops"?: number;
  "Actual Total Time"?: number;
  "Shared Hit Blocks"?: number;
  "Shared Read Blocks"?: number;
  "WAL Bytes"?: number;
  Plans?: PlanNode[];
}

/** Postgres logs a plan after this text, as JSON over several lines that begin with a tab. */
const told = / plan:\n((?:\t.*\n)+)/g;

/**
 * Runs `act` once on one connection with auto_explain, and returns the plan of the slowest
 * statement with `mark` in its text: a line for each step that took at least a hundredth of it.
 * Timing each step slows it down, so the rates of a bench are measured without it.
 */
export async function hotPlan(
  stack: BenchStack,
  mark: string,
  act: (sql: Sql) => Promise<unknown>,
): Promise<string[]> {
  const sql = connect(stack.env, { max: 1 });
  try {
    await sql`load 'auto_explain'`;
    await sql`
      select set_config(name, value, false) from (values ('auto_explain.log_min_duration', '10'), ('auto_explain.log_analyze', 'on'),
        ('auto_explain.log_buffers', 'on'), ('auto_explain.log_wal', 'on'), ('auto_explain.log_format', 'json')) settings (name, value)`;
    const before = (await readFile(stack.serverLog, "utf8")).length;
    await act(sql);
    return slowestOf((await readFile(stack.serverLog, "utf8")).slice(before), mark);
  } finally {
    await sql.end();
  }
}

function slowestOf(log: string, mark: string): string[] {
  const plans = [...log.matchAll(told)]
    .map(([, json = ""]): { "Query Text": string; Plan: PlanNode } => JSON.parse(json))
    .filter((plan) => plan["Query Text"].includes(mark))
    .sort((a, b) => (b.Plan["Actual Total Time"] ?? 0) - (a.Plan["Actual Total Time"] ?? 0));
  const [slowest] = plans;
  if (slowest === undefined) throw new Error(`Postgres logged no plan with "${mark}".`);
  return linesOf(slowest.Plan, (slowest.Plan["Actual Total Time"] ?? 0) / 100, 0);
}

function linesOf(node: PlanNode, msMin: number, depth: number): string[] {
  const ms = (node["Actual Total Time"] ?? 0) * (node["Actual Loops"] ?? 1);
  const rows = Math.round((node["Actual Rows"] ?? 0) * (node["Actual Loops"] ?? 1));
  const on = node["Relation Name"] ?? node["CTE Name"];
  const line = [
    "  ".repeat(depth),
    node["Subplan Name"] === undefined ? "" : `${node["Subplan Name"]}: `,
    node["Node Type"],
    on === undefined ? "" : ` on ${on}`,
    ` ${ms.toFixed(1)} ms`,
    rows > 0 ? `, ${rows} rows` : "",
    `, ${(node["Shared Hit Blocks"] ?? 0) + (node["Shared Read Blocks"] ?? 0)} pages`,
    (node["WAL Bytes"] ?? 0) > 0 ? `, ${node["WAL Bytes"]} B WAL` : "",
  ].join("");
  const below = (node.Plans ?? []).flatMap((child) => linesOf(child, msMin, depth + 1));
  return ms >= msMin ? [line, ...below] : below;
}
