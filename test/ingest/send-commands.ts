import { randomUUID } from "node:crypto";
import { acceptanceOf } from "../../lib/command/acceptance.ts";
import { allowedTargetsFrom } from "../../lib/command/allowed-targets.ts";
import { applyChunk, deadOf } from "../../lib/ingest/apply-chunk.ts";
import { readMessage } from "../../lib/ingest/received.ts";
import { understand } from "../../lib/ingest/understand.ts";
import { silentLog } from "../../lib/log/log.ts";
import { memoryQueue } from "../../lib/tools/testing/memory-queue.ts";
import type { OwnApi } from "../api/own-api.ts";

/** Applies commands as the function does, without the dead-letter queue. */
export async function sendCommands(
  api: OwnApi,
  commands: unknown,
  prefix: string | null = null,
): Promise<void> {
  const deps = {
    sql: api.sql,
    queue: memoryQueue(api.clock, silentLog),
    log: silentLog,
    prefix,
    acceptance: acceptanceOf({ handlers: [], targets: allowedTargetsFrom({ AWS_REGION: "us-east-1" }) }),
  };
  const now = api.clock.now();
  const attributes = {
    SentTimestamp: String(now.getTime()),
    ApproximateReceiveCount: "1",
    SenderId: "",
    ApproximateFirstReceiveTimestamp: "0",
  };
  const read = readMessage({ messageId: randomUUID(), body: JSON.stringify(commands), attributes });
  const received = read.flatMap((each) => ("refusal" in each ? [] : [each]));
  const { understood, refused } = understand(deps, received, now);
  const dead = refused.map((each) => deadOf(each.received, each.key, each.refusal));
  await applyChunk(deps, { commands: understood, dead, mayWait: () => false });
}
