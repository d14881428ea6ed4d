import { type Attack, type Ground, ownPrefix } from "../attack.ts";
import { inParallel } from "../caller.ts";
import { bulk, deleteOwn } from "../delete-own.ts";
import { openSocket } from "../raw.ts";

const atOnce = 4;
const longestWaitMs = 60;
const triesMax = 20;
const againMs = 500;
const filter = { prefix: `${ownPrefix}left-` };

async function makeSchedules({ caller, tokens }: Ground, count: number): Promise<void> {
  const operations = Array.from({ length: Math.min(1_000, count) }, (_, index) => ({
    put: { key: `${filter.prefix}${index}`, when: "every 1h", target: { handler: "greet" } },
  }));
  await caller.json("POST", "/v1/schedules:batch", { token: tokens.write, body: { operations } });
}

const actions = [
  ["pause", { filter, reason: "abandoned" }],
  ["resume", { filter }],
  ["patch", { filter, patch: { timezone: "Europe/Berlin" } }],
  ["patch", { filter, patch: { timezone: "UTC" } }],
] as const;

/** Sends a bulk action, and closes the connection before its answer. */
async function abandon({ api, tokens, dice, clock, answers }: Ground): Promise<void> {
  const [action, body] = dice.pick(actions);
  const text = JSON.stringify(body);
  const socket = await openSocket(api);
  socket.write(
    `POST /v1/schedules:${action} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${tokens.write}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n`,
  );
  // A third is abandoned within its body.
  socket.write(dice.chance(0.3) ? text.slice(0, text.length / 2) : text);
  await clock.sleep(dice.between(0, longestWaitMs));
  if (dice.chance(0.5)) socket.resetAndDestroy();
  else socket.destroy();
  answers.abandoned++;
}

async function pausedAfterResume(ground: Ground): Promise<number> {
  await bulk(ground, "resume", { filter });
  const path = `/v1/schedules:count?prefix=${filter.prefix}&state=paused`;
  const counted = await ground.caller.json("GET", path, { token: ground.tokens.write });
  return (counted as { count: number } | undefined)?.count ?? 0;
}

export const abandoned: Attack = {
  name: "abandoned",
  does: "closes connections in the middle of bulk actions",
  holds: "a bulk action that is sent to its end afterwards reaches every schedule",
  async run(ground, { actions, schedules }) {
    const { answers, clock } = ground;
    await makeSchedules(ground, schedules);
    await inParallel(actions, atOnce, () => abandon(ground));
    let paused = await pausedAfterResume(ground);
    // The function of an abandoned request may still be at work, and pause schedules again.
    for (let tries = 1; paused > 0 && tries < triesMax; tries++) {
      await clock.sleep(againMs);
      paused = await pausedAfterResume(ground);
    }
    if (paused > 0) answers.fault(`${paused} schedules are paused after a resume of all`);
    await deleteOwn(ground);
  },
};
