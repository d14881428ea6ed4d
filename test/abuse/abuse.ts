import { ListQueuesCommand, PurgeQueueCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { Clock } from "../../lib/clock.ts";
import type { Dice } from "../race/seeded.ts";
import { Answers } from "./answers.ts";
import { type Attack, ownPrefix, type Tokens, type Volume } from "./attack.ts";
import { Caller, inParallel } from "./caller.ts";
import { startNeighbour } from "./neighbour.ts";
import { growthFaults, type Report, timeFaults } from "./report.ts";
import type { AttackedStack, Memory } from "./stack-process.ts";
import { watchTicks } from "./ticks.ts";
import { makeTokens } from "./tokens.ts";

export interface AbuseParts {
  stack: AttackedStack;
  attacks: readonly Attack[];
  volume: Volume;
  dice: Dice;
  clock: Clock;
  /** Requests of the neighbour during each attack, at least. */
  probesAtLeast: number;
  /** An attack that is not done after this sends no more, which is a fault. */
  attackMinutesMax: number;
  /** Whether lateness is a fault. On a machine with other work, it is not the stack's. */
  timed: boolean;
  told: (report: Report) => void;
}

/** Runs the attacks one after another against one stack. */
export async function abuse(parts: AbuseParts): Promise<Report[]> {
  const { stack, attacks, told } = parts;
  const tokens = await makeTokens(stack.api, stack.adminToken, parts.volume.rate);
  await warmUp(stack, tokens.attacker);
  const reports: Report[] = [];
  for (const attack of attacks) {
    const report = await runAttack(attack, parts, tokens);
    told(report);
    reports.push(report);
  }
  return reports;
}

async function runAttack(
  attack: Attack,
  { stack, volume, dice, clock, probesAtLeast, timed, attackMinutesMax }: AbuseParts,
  tokens: { attacker: Tokens; neighbour: string },
): Promise<Report> {
  const before = await settledMemory(stack, clock);
  const badTicks = stack.badTicks().length;
  const failed = stack.failures().length;
  const answers = new Answers();
  const over = AbortSignal.timeout(attackMinutesMax * 60_000);
  const caller = new Caller(stack.api, answers, { connections: callersMax, over });
  const ticking = watchTicks(stack.api, stack.adminToken, clock);
  const neighbour = await startNeighbour({ api: stack.api, token: tokens.neighbour, clock, probesAtLeast });
  const startedAt = clock.now().getTime();
  try {
    const ground = { api: stack.api, tokens: tokens.attacker, caller, answers, dice, clock };
    await attack.run(ground, volume).catch((error: unknown) => {
      answers.fault(`the attack ended early: ${error instanceof Error ? error.message : String(error)}`);
    });
  } finally {
    caller.close();
  }
  if (over.aborted) answers.fault(`the attack was not done after ${attackMinutesMax} minutes`);
  const seconds = (clock.now().getTime() - startedAt) / 1_000;
  const [seen, ticks] = await Promise.all([neighbour.end(), ticking.end()]);
  await purge(stack.sqs);
  const after = await settledMemory(stack, clock);
  const more = answers.faultCount - answers.faults.length;
  return {
    attack: attack.name,
    seconds,
    requests: answers.count,
    answers: answers.text(),
    before,
    after,
    neighbour: seen,
    ticks,
    faults: [
      ...answers.faults,
      ...(more > 0 ? [`${more} more faults of answers`] : []),
      ...stack.failures().slice(failed, failed + shownFailures),
      ...seen.faults,
      ...growthFaults(before, after),
      ...(timed ? [...timeFaults({ ticks, neighbour: seen }), ...stack.badTicks().slice(badTicks)] : []),
    ],
  };
}

const shownFailures = 3;
const callersMax = 64;
const warmUpRequests = 400;
const warmUpBatches = 40;
/** Each of its operations is answered with an error. */
const missing = {
  operations: Array.from({ length: 1_000 }, (_, index) => ({
    delete: { key: `${ownPrefix}missing-${index}` },
  })),
};
const largeBytes = 4 * 1024 * 1024;

/**
 * Uses every environment of the API, small and large bodies, and large answers, so that what a first
 * request makes is not taken for growth.
 */
async function warmUp(stack: AttackedStack, tokens: Tokens): Promise<void> {
  const caller = new Caller(stack.api, new Answers(), { connections: 32 });
  const large = `{"description":"${"x".repeat(largeBytes)}"}`;
  await inParallel(warmUpRequests, 32, (index) =>
    caller.send({
      method: "PUT",
      path: `/v1/schedules/${ownPrefix}warm`,
      token: tokens.write,
      body: index % 20 === 0 ? large : '{"when":"every 1h","target":{"handler":"greet"}}',
    }),
  );
  await inParallel(warmUpBatches, 2, async () => {
    await caller.json("POST", "/v1/schedules:batch", { token: tokens.write, body: missing });
    await caller.json("POST", "/v1/preview", {
      token: tokens.write,
      body: { when: ["0 0 29 2 *"], n: 1_000 },
    });
  });
  await caller.json("DELETE", `/v1/schedules/${ownPrefix}warm`, { token: tokens.write });
  caller.close();
}

const settlesMs = 100;
const settlesMax = 5;

/** The least of a few readings, each after a collection: garbage of the last requests takes a moment. */
async function settledMemory(stack: AttackedStack, clock: Clock): Promise<Memory> {
  let least = await stack.memory();
  for (let read = 1; read < settlesMax; read++) {
    await clock.sleep(settlesMs);
    const next = await stack.memory();
    least = { rss: Math.min(least.rss, next.rss), used: Math.min(least.used, next.used) };
  }
  return least;
}

/** Takes the messages that targets would have received, which no app reads here. */
async function purge(endpoint: string): Promise<void> {
  const credentials = { accessKeyId: "abuse", secretAccessKey: "abuse" };
  const sqs = new SQSClient({ endpoint, region: "us-east-1", credentials });
  try {
    const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({ MaxResults: 1_000 }));
    for (const QueueUrl of QueueUrls)
      if (!/\/carillon-[\w-]+$/.test(QueueUrl)) await sqs.send(new PurgeQueueCommand({ QueueUrl }));
  } finally {
    sqs.destroy();
  }
}
