import assert from "node:assert/strict";
import { Carillon } from "../../lib/client/carillon.ts";
import { CarillonProblem } from "../../lib/client/request/problem.ts";
import { SmokeQueue } from "./smoke-queue.ts";
import type { SmokeSettings } from "./smoke-settings.ts";

/**
 * Time for a cold start of each function on the path, one after the other, and for a tick that runs
 * only each minute.
 */
const ARRIVAL_MS_MAX = 120_000;
const SETTLED_MS_MAX = 60_000;
const LOOK_AGAIN_MS = 250;

/** Reports a step: done, not tried, or left behind. */
export type Say = (step: string, mark?: "ok" | "not tried" | "left behind") => void;

/**
 * The whole path through a deployment, from outside: HTTPS → schedule → tick or poke → queue →
 * worker → the target's queue → ledger, and the same again through the queue of commands. All
 * resources that it makes have unique names and are deleted, even when it fails.
 */
export async function smoke(settings: SmokeSettings, say: Say): Promise<void> {
  const name = `smoke-${crypto.randomUUID()}`;
  const carillon = new Carillon({ url: settings.url, token: settings.token });
  const queue = new SmokeQueue(`carillon-target-${name}`);
  try {
    await carillon.health();
    say(`${settings.url} answers, and so does its database`);
    await refusesStrangers(settings.url);
    say("an unknown token is refused with 401");
    await queue.make();
    say(`made the queue ${queue.name}`);
    await throughTheApi(carillon, queue, `${name}:http`, say);
    if (settings.ingestQueueUrl === undefined)
      say("commands by SQS, because INGEST_QUEUE_URL is not set", "not tried");
    else await throughTheQueue(carillon, queue, settings.ingestQueueUrl, `${name}:sqs`, say);
  } finally {
    // An earlier error is the result, and must not be hidden by one of the clean-up.
    const leftBehind = (error: unknown) => say(`something named ${name}: ${String(error)}`, "left behind");
    await queue.remove().catch(leftBehind);
    for (const way of ["http", "sqs"]) await deleteIfThere(carillon, `${name}:${way}`).catch(leftBehind);
  }
}

async function refusesStrangers(url: string): Promise<void> {
  const stranger = new Carillon({ url, token: "nobodys-token", retries: 0 });
  const refused = await stranger.schedules
    .list({ limit: 1 })
    .page()
    .catch((error: unknown) => error);
  assert(refused instanceof CarillonProblem, "An unknown token was accepted.");
  assert.equal(refused.status, 401);
}

async function throughTheApi(carillon: Carillon, queue: SmokeQueue, key: string, say: Say): Promise<void> {
  const payload = { by: key };
  const schedule = await carillon.schedules.put(key, {
    when: "in 2s",
    target: { queue: queue.name },
    payload,
  });
  say(`put the schedule ${key}, due ${schedule.nextAt}`);
  await arrivesOnce(carillon, queue, key, payload, say);
  await carillon.schedules.delete(key);
  assert.equal(await isThere(carillon, key), false, `${key} can be read after its deletion.`);
  say("deleted it, and it is gone");
}

async function throughTheQueue(
  carillon: Carillon,
  queue: SmokeQueue,
  ingestQueueUrl: string,
  key: string,
  say: Say,
): Promise<void> {
  const payload = { by: key };
  await queue.send(ingestQueueUrl, { put: { key, when: "in 2s", target: { queue: queue.name }, payload } });
  say(`sent the command to put ${key} to the queue of commands`);
  await arrivesOnce(carillon, queue, key, payload, say);
  await queue.send(ingestQueueUrl, { delete: key });
  await comesTrue(`${key} is deleted by a command`, async () => !(await isThere(carillon, key)));
  say("deleted it by a command, and it is gone");
}

/** Checks the message that a target gets, and the ledger's record of its job. */
async function arrivesOnce(
  carillon: Carillon,
  queue: SmokeQueue,
  key: string,
  payload: object,
  say: Say,
): Promise<void> {
  const message = await queue.next(ARRIVAL_MS_MAX);
  assert.equal(message.subject, key);
  assert.deepEqual(message.data, payload);
  say("its message arrived");
  const [job, ...others] = await comesTrue(`the ledger says that ${key} succeeded`, async () => {
    const { items } = await carillon.schedules.jobs(key).page();
    return items.some(({ state }) => state === "succeeded") && items;
  });
  assert.deepEqual(others, [], "The ledger has more than one job.");
  assert.equal(job?.id, message.id, "The message's job is not the ledger's.");
  assert.equal(Date.parse(job.dueAt), message.time);
  assert((job.latenessMs ?? -1) >= 0, `The job started before it was due: ${job.latenessMs} ms late.`);
  say(`the ledger has that one job, succeeded, ${job.latenessMs} ms after it was due`);
}

async function isThere(carillon: Carillon, key: string): Promise<boolean> {
  return carillon.schedules.get(key).then(
    () => true,
    (error: unknown) => {
      if (error instanceof CarillonProblem && error.status === 404) return false;
      throw error;
    },
  );
}

async function deleteIfThere(carillon: Carillon, key: string): Promise<void> {
  if (await isThere(carillon, key)) await carillon.schedules.delete(key);
}

async function comesTrue<Found>(what: string, look: () => Promise<Found | false>): Promise<Found> {
  const until = Date.now() + SETTLED_MS_MAX;
  for (;;) {
    const found = await look();
    if (found !== false) return found;
    assert(Date.now() < until, `Not true after ${SETTLED_MS_MAX / 1_000} s: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}
