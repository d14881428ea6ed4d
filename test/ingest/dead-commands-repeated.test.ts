import { expect, test } from "vitest";
import { type KeyedWorld, keyedWorld } from "../api/idempotency-world.ts";

const command = { put: { key: "mended", when: "every 1h", target: { queue: "demo" } } };
const headers = { "idempotency-key": "once" };
const deadPath = "/v1/commands/dead/1";

async function withDeadCommand(dies?: Parameters<typeof keyedWorld>[0]): Promise<KeyedWorld> {
  const world = await keyedWorld(dies);
  await world.sql`
    insert into carillon.dead_commands (message_id, place, command_id, at, key, refused_at, refusal, command)
    values ('message', 0, 'command', carillon.clock(), 'mended', carillon.clock(),
      '{"kind": "impossible", "message": "There is no such calendar.", "faults": []}'::jsonb, ${JSON.stringify(command)}::text::jsonb)`;
  return world;
}

test.each([
  ["tried again", { method: "POST", path: `${deadPath}/retry`, headers }, 200],
  ["deleted", { method: "DELETE", path: deadPath, headers }, 204],
])(
  "if a request with an Idempotency-Key dies at its last commit, after a dead command was %s, its repetition gets the same answer",
  async (_, request, status) => {
    const whole = await withDeadCommand();
    expect((await whole.sendToDoomed(request))?.status).toBe(status);
    const commit = whole.fuse.operations.findLast(({ label }) => / commit\b/.test(label));
    await whole.close();
    if (commit === undefined) throw new Error("Nothing was committed.");

    const world = await withDeadCommand({ ...commit, side: "after" });
    expect(await world.sendToDoomed(request)).toBeNull();
    await world.clock.advance(60_000);
    expect((await world.send(request))?.status).toBe(status);
    expect(await world.sql`select from carillon.dead_commands`).toHaveLength(0);
    expect(await world.sql`select from carillon.schedules`).toHaveLength(status === 200 ? 1 : 0);
    await world.close();
  },
  60_000,
);
