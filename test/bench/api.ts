import { assemble } from "../../functions/api.ts";
import { silentLog } from "../../lib/log/log.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { ensureAdminToken } from "../../lib/token/token.ts";
import { httpEvent, invocation } from "../api/http-event.ts";
import { benchStack, measuredOn } from "./bench-stack.ts";
import { type BatchCallers, batchCallers } from "./callers/batch-callers.ts";
import { cpuLine, cpuSplit } from "./cpu-split.ts";
import { type Figures, machine, median, number, type Options, perSecond, type Say } from "./report.ts";
import { seedSchedules } from "./seed.ts";

const bearer = "bench-token";

export const does = "requests to the API's handler: one by one, and in batches of 1,000";

export const options = { schedules: "300000", singles: "2000", batches: "20", runs: "3" };

interface ApiFigures extends Figures {
  create: Latency;
  read: Latency;
  /** Schedules a second, by operation and by number of callers. */
  batch: Record<string, number>;
  schedules: number;
}

/**
 * Measures the API's deployed handler, from the event to the answer, over a database that already
 * holds schedules.
 */
export async function bench(options: Options, say: Say): Promise<ApiFigures> {
  const schedules = number(options, "schedules");
  const runs = number(options, "runs");
  say(machine());
  await using stack = await benchStack(options["data-dir"], 4);
  await seedSchedules(stack.sql, schedules, say);
  await ensureAdminToken(stack.sql, bearer);
  await using callers = await batchCallers(stack.env, bearer, 2);
  const { handler, close } = assemble(stack.env);
  const send: Send = async (method, path, body) => {
    const event = httpEvent(method, path, { headers: { authorization: `Bearer ${bearer}` }, body });
    const { statusCode, body: text } = await handler(event, invocation);
    if (statusCode >= 300) throw new Error(`${method} ${path} was answered ${statusCode}: ${text}`);
    return text;
  };
  try {
    await singles(send, "warm", 300);
    await stack.sql`checkpoint`;
    const count = number(options, "singles");
    const single = await singles(send, "one", count);
    const read = await reads(send, count);
    say(`create: ${said(single)}; read: ${said(read)}`);
    const figures: Record<string, number[]> = {};
    for (let run = 1; run <= runs; run++) {
      await tick({ sql: stack.sql, queue: stack.queue, log: silentLog }, tickDefaults, () => false);
      await stack.sql`checkpoint`;
      for (const by of [1, 2]) {
        const measured = { by, count: number(options, "batches"), postgresPid: stack.postgresPid };
        for (const { name, rate, cpu } of await batches(callers, `batch:${run}:${by}`, measured)) {
          const figure = `${name}By${by}`;
          say(`${figure}: ${rate} a second; ${cpu}`);
          figures[figure] = [...(figures[figure] ?? []), rate];
        }
      }
    }
    const batch = Object.fromEntries(
      Object.entries(figures).map(([name, rates]) => [`${name}PerSecond`, median(rates)]),
    );
    say(`batches of 1,000: ${JSON.stringify(batch)}`);
    const [row] = await stack.sql<{ count: number }[]>`
      select count(*)::int as count from carillon.schedules where starts_with(key, 'batch:') and deleted_at is null`;
    if (row?.count !== 0) throw new Error(`${row?.count} schedules of the batches are left.`);
    return {
      perSecond: batch["createBy2PerSecond"],
      create: single,
      read,
      batch,
      schedules,
      ...measuredOn(stack),
    };
  } finally {
    await close();
  }
}

const budget = { createP99Ms: 20, batchPerSecond: 10_000 };

export function page({ create, read, batch, schedules }: ApiFigures): string {
  const row = (name: string, { p50Ms, p99Ms, maxMs }: Latency) =>
    `| ${name} | ${p50Ms} | ${p99Ms} | ${maxMs} |`;
  const rate = (name: string) => (batch[name] ?? 0).toLocaleString("en");
  const batches = [
    ["made", "create"],
    ["put again, nothing changed", "unchanged"],
    ["changed", "change"],
    ["deleted", "delete"],
  ].map(([told, name]) => `| ${told} | ${rate(`${name}By1PerSecond`)} | ${rate(`${name}By2PerSecond`)} |`);
  const single = create.p99Ms <= budget.createP99Ms ? "met" : "missed";
  const most = Math.max(batch["createBy1PerSecond"] ?? 0, batch["createBy2PerSecond"] ?? 0);
  const many = most >= budget.batchPerSecond ? "met" : "missed";
  return `The deployed handler, from the event to the answer, over ${schedules.toLocaleString("en")} schedules. One request after the other:

| | p50, ms | p99, ms | longest, ms |
|---|--:|--:|--:|
${row("a schedule made", create)}
${row("read", read)}

In batches of 1,000, schedules a second; each caller has a function, a thread and a connection of its own:

| | one caller | two |
|---|--:|--:|
${batches.join("\n")}

Budgets: a create within ${budget.createP99Ms} ms (p99) is ${single}, and ${budget.batchPerSecond.toLocaleString("en")} schedules a second in batches are ${many}. Node and Postgres share the machine; a single create is a dozen statements, and each
waits for the one before.`;
}

type Send = (method: string, path: string, body?: unknown) => Promise<string>;

interface Latency {
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

const said = ({ p50Ms, p99Ms, maxMs }: Latency) => `p50 ${p50Ms} ms, p99 ${p99Ms} ms, most ${maxMs} ms`;

/** Uses every form of `when`, half of the schedules with a group; none is due soon. */
function body(n: number, more: object = {}) {
  const whens = ["every 1h", `in ${10 + (n % 50)}d`, `${n % 60} ${n % 24} * * *`, "every 7d"];
  const group = n % 2 === 0 ? { group: `group:${Math.floor(n / 10)}`, tags: ["bench"] } : {};
  return {
    when: whens[n % 4],
    target: { queue: "bench" },
    payload: { order: n, note: "as it was put" },
    ...group,
    ...more,
  };
}

async function singles(send: Send, prefix: string, count: number): Promise<Latency> {
  return latencies(count, (n) => send("PUT", `/v1/schedules/${prefix}:${n}`, body(n)));
}

async function reads(send: Send, count: number): Promise<Latency> {
  return latencies(count, (n) => send("GET", `/v1/schedules/one:${n}`));
}

async function latencies(count: number, act: (n: number) => Promise<unknown>): Promise<Latency> {
  const taken: number[] = [];
  for (let n = 0; n < count; n++) {
    const startedAt = performance.now();
    await act(n);
    taken.push(performance.now() - startedAt);
  }
  taken.sort((a, b) => a - b);
  const at = (share: number) => Math.round((taken[Math.floor(taken.length * share)] ?? 0) * 100) / 100;
  return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1 - 1 / taken.length) };
}

interface Measured {
  name: string;
  rate: number;
  cpu: string;
}

/**
 * Creates, puts unchanged, changes and deletes the same thousands of schedules, with this many
 * concurrent callers.
 */
async function batches(
  callers: BatchCallers,
  prefix: string,
  { by, count, postgresPid }: { by: number; count: number; postgresPid: number },
): Promise<Measured[]> {
  const keys = Array.from({ length: count }, (_, batch) =>
    Array.from({ length: 1_000 }, (_, n) => ({ key: `${prefix}:${batch}:${n}`, n: batch * 1_000 + n })),
  );
  const each = async (name: string, operation: (key: string, n: number) => object): Promise<Measured> => {
    const asked = keys.map((batch) => batch.map(({ key, n }) => operation(key, n)));
    const split = cpuSplit(postgresPid);
    const rate = perSecond(count * 1_000, await callers.send(asked, by));
    return { name, rate, cpu: cpuLine(split.end()) };
  };
  return [
    await each("create", (key, n) => ({ put: { key, ...body(n) } })),
    await each("unchanged", (key, n) =>
      n % 4 === 1 ? { patch: { key, tags: body(n).tags ?? [] } } : { put: { key, ...body(n) } },
    ),
    await each("change", (key, n) => ({ put: { key, ...body(n, { payload: { changed: n } }) } })),
    await each("delete", (key) => ({ delete: key })),
  ];
}
