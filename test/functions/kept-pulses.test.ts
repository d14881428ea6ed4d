import { afterEach, expect, test } from "vitest";
import { assemble } from "../../functions/worker.ts";
import { sqsEvent } from "../../lib/tools/local/lambda/sqs-event.ts";
import { localQueueArn, localRegion } from "../../lib/tools/local/local-account.ts";
import { type BeatWorld, beatWorld } from "../pulse/beat-world.ts";
import { second } from "../support/instants.ts";

let world: BeatWorld;
afterEach(() => world.stop());

test("The deployed worker gives up pulses whose target the setting keeps for other keys", async () => {
  world = await beatWorld();
  await world.store([{ id: 1, every: 60, offset: 20, queue: "good-mails" }]);
  await world.sql`update carillon.pulses set rest = '"subject":"evil:a","data":1}'`;
  await world.tick();
  await world.clock.advance(20 * second);
  const { clock, log, sql, queue } = world;
  const env = { AWS_REGION: localRegion, CARILLON_LOG: "text", TARGET_PREFIXES: "good:=queue/good-mails" };
  const worker = assemble(env, { clock, log, sql, queue, transactions: sql });
  const messages = queue.messages.map(({ body }) => ({ Body: body }));
  const answer = await worker.handler(sqsEvent(messages, localQueueArn("carillon-fast")), {
    awsRequestId: "1",
    getRemainingTimeInMillis: () => 60_000,
  });
  expect(answer).toEqual({ batchItemFailures: [] });
  expect(log.lines.filter(({ event }) => event.startsWith("pulse."))).toMatchObject([
    { event: "pulse.not-allowed" },
  ]);
  expect(await sql`select reason, count::int from carillon.pulses_passed`).toEqual([
    { reason: "refused", count: 1 },
  ]);
});
