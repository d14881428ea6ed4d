import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { readQueue, type StackProcess, startProcess } from "./local-stack.ts";

let folder: string;
let stack: StackProcess;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "carillon-pulses-"));
  stack = await startProcess(path.join(folder, "data"));
});

afterEach(async () => {
  await stack.end("SIGTERM");
  rmSync(folder, { recursive: true, force: true });
});

const envelope = z.object({
  id: z.string(),
  time: z.iso.datetime().transform((text) => Date.parse(text)),
  generatedat: z.iso.datetime().transform((text) => Date.parse(text)),
  schedulekey: z.string(),
  data: z.object({ say: z.string() }),
});
const pulsesOf = (bodies: readonly string[]) =>
  bodies.flatMap((body) =>
    z.union([envelope.transform((one) => [one]), z.array(envelope)]).parse(JSON.parse(body)),
  );

async function asked(method: string, where: string, body?: unknown): Promise<void> {
  const answer = await stack.request(method, `/v1/schedules/${where}`, body);
  expect([answer.status < 300, answer.status < 300 ? "" : await answer.text()]).toEqual([true, ""]);
}

const stats = z.looseObject({ asOf: z.iso.datetime().transform((text) => Date.parse(text)) });

/** The time by the stack's own clock, which stamps the pulses. */
async function stackTime(): Promise<number> {
  return stats.parse(await (await stack.request("GET", "/v1/stats")).json()).asOf;
}

const says = (text: string) => (bodies: readonly string[]) =>
  pulsesOf(bodies).some(({ data }) => data.say === text);

/** True once a running pulse has been sent for two seconds after this instant. */
const beatsAfter = (instant: number) => (bodies: readonly string[]) =>
  new Set(pulsesOf(bodies).flatMap(({ time }) => (time > instant ? [time] : []))).size >= 2;

test("a pulse arrives each second by its last edit, and stops when it is paused or deleted", async () => {
  const pulse = { when: "every 1s", delivery: "pulse", payload: { say: "first" } };
  await asked("PUT", "each", { ...pulse, target: { queue: "pulses" } });
  await asked("PUT", "together-1", { ...pulse, target: { queue: "batches", batch: 10 } });
  const ids = (bodies: readonly string[]) => new Set(pulsesOf(bodies).map(({ id }) => id));
  const begun = pulsesOf(await readQueue(stack, "pulses", (bodies) => ids(bodies).size >= 2));
  // A second may be sent twice, with the same id.
  const times = new Set(begun.map(({ time }) => time));
  expect(new Set(begun.map(({ id }) => id)).size).toBe(times.size);
  expect(begun.every(({ time, generatedat }) => time % 1_000 === 0 && generatedat >= time)).toBe(true);

  await asked("PATCH", "each", { payload: { say: "second" } });
  const editedAt = await stackTime();
  const edited = pulsesOf(await readQueue(stack, "pulses", says("second")));
  expect(edited.filter(({ data, generatedat }) => data.say === "first" && generatedat > editedAt)).toEqual(
    [],
  );

  await asked("POST", "each/pause");
  const pausedAt = await stackTime();
  const together = await readQueue(stack, "batches", beatsAfter(pausedAt));
  expect(together.every((body) => body.startsWith("["))).toBe(true);
  await asked("PATCH", "each", { payload: { say: "third" } });
  await asked("POST", "each/resume");
  const resumed = pulsesOf(await readQueue(stack, "pulses", says("third")));
  expect(resumed.filter(({ data, generatedat }) => data.say === "second" && generatedat > pausedAt)).toEqual(
    [],
  );
  expect(resumed.filter(({ data, time }) => data.say === "third" && time <= pausedAt)).toEqual([]);

  await asked("DELETE", "together-1");
  const goneAt = await stackTime();
  await readQueue(stack, "pulses", beatsAfter(goneAt));
  await asked("PUT", "together-2", {
    ...pulse,
    payload: { say: "last" },
    target: { queue: "batches", batch: 10 },
  });
  const after = pulsesOf(await readQueue(stack, "batches", says("last")));
  expect(
    after.filter(({ schedulekey, generatedat }) => schedulekey === "together-1" && generatedat > goneAt),
  ).toEqual([]);
}, 120_000);
