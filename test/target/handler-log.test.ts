import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../lib/job/define-job.ts";
import { type HandlerLog, jsonLog, textLog } from "../../lib/log/log.ts";
import { at, second } from "../support/instants.ts";
import { type HandlerWorld, handlerWorld } from "./handler-world.ts";

let world: HandlerWorld;
afterEach(() => world.stop());

const jobId = `1-${at(10 * second).getTime()}-c0`;

/** The log lines of a handler that then succeeds. */
async function linesOf(say: (log: HandlerLog) => void, log: (write: (line: string) => void) => HandlerLog) {
  world = await handlerWorld(
    defineJob({ name: "logs", payload: z.unknown(), run: async (_, context) => say(context.log) }),
  );
  await world.put("k", { when: "in 10s", target: { handler: "logs" } });
  await world.clock.advance(10 * second);
  await world.tick();
  const lines: string[] = [];
  await world.run({ log: log((line) => lines.push(line)) });
  expect(await world.jobs("k")).toMatchObject([{ state: "succeeded", attempt: 1, error: null }]);
  return lines;
}

const asText = (write: (line: string) => void) => textLog("worker", () => at(0), write);
const asJson = (write: (line: string) => void) => jsonLog(write, () => undefined);

test("a handler logs events of its own choice, each on its own line", async () => {
  const lines = await linesOf((log) => {
    log.info("invoice sent", { amount: 7 });
    log.warn("constructor");
  }, asText);
  expect(lines).toEqual([
    `10:00:00.000   worker invoice sent (job=${jobId} key=k amount=7)`,
    `10:00:00.000 ! worker constructor (job=${jobId} key=k)`,
  ]);
});

test("a circle is logged up to itself, other values that JSON cannot hold as text, and neither fails a job", async () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  const unreadable = Object.defineProperty({}, "x", {
    enumerable: true,
    get: () => {
      throw new Error("unreadable");
    },
  });
  const odd = { count: 7n, circle } as unknown as Record<string, string>;
  const lines = await linesOf((log) => {
    log.info("odd", odd);
    log.info("unreadable", unreadable);
    log.error("after", { n: 1 });
  }, asJson);
  const named = { job: jobId, key: "k" };
  expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
    { level: "info", event: "odd", ...named, count: "7", circle: { self: "[circular]" } },
    { level: "info", event: "unreadable", ...named },
    { level: "error", event: "after", ...named, n: 1 },
  ]);
});

test("a log that cannot be written fails no job", async () => {
  const closed = () => {
    throw new Error("write EPIPE");
  };
  expect(
    await linesOf(
      (log) => log.info("x"),
      () => jsonLog(closed),
    ),
  ).toEqual([]);
});
