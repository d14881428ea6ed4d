import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type OwnApi, ownApi } from "../api/own-api.ts";
import { sendCommands } from "./send-commands.ts";

/** Holds by an admin of all keys, against the queue of a team and commands that a team sends again. */

let api: OwnApi;
let team: string;

const free = { when: "every 1h", target: { queue: "demo" } };
const one = "/v1/schedules/team:a";

beforeAll(async () => {
  api = await ownApi();
  await api.tick();
  const made = await api.send("POST", "/v1/tokens", {
    body: { name: "team", scope: "admin", prefix: "team:" },
  });
  team = (made.json as { token: string }).token;
});

afterAll(() => api.stop());

beforeEach(async () => {
  await api.sql`delete from carillon.dead_commands`;
  await api.send("DELETE", one);
  await api.send("PUT", one, { body: { ...free, group: "shared" } });
});

const standing = () => api.sql`
  select h.scope, h.owner, h.until, h.reach from carillon.holds h join carillon.schedules s on s.id = h.schedule_id
  where s.key = 'team:a' order by scope`;
const dead = () => api.sql<{ id: string; kind: string; message: string }[]>`
  select id, refusal->>'kind' as kind, refusal->>'message' as message from carillon.dead_commands order by id`;

test("A queue of a team lifts no hold of an admin of all keys, and the refused commands say why", async () => {
  await api.send("POST", `${one}/pause`, { body: { owner: "night" } });
  await api.send("POST", "/v1/groups/shared/pause", { body: { owner: "night" } });
  const before = await standing();
  const until = new Date(api.clock.now().getTime() + 60_000).toISOString();
  const commands = [
    { resume: { key: "team:a", owner: "night" } },
    { pause: { key: "team:a", owner: "night", until } },
    { patch: { key: "team:a", group: null } },
    { put: { key: "team:a", ...free } },
  ];
  for (const command of commands) await sendCommands(api, [command], "team:");
  expect(await standing()).toEqual(before);
  expect(before).toMatchObject([{ scope: "group" }, { scope: "schedule", until: null, reach: "" }]);
  const refused = await dead();
  expect(refused).toHaveLength(commands.length);
  for (const { kind, message } of refused) {
    expect(kind).toBe("forbidden");
    expect(message).toContain("was made by a caller that reaches all keys");
  }
  await api.send("POST", "/v1/groups/shared/resume", { body: { owner: "night" } });
});

test("A queue of all keys lifts the hold, and a team's admin does not lift a hold of that queue", async () => {
  await api.send("POST", `${one}/pause`, { body: { owner: "night" } });
  await sendCommands(api, [{ resume: { key: "team:a", owner: "night" } }]);
  expect(await standing()).toEqual([]);
  await api.clock.advance(1_000);
  await sendCommands(api, [{ pause: "team:a" }]);
  expect(await standing()).toMatchObject([{ owner: "queue:ingest", reach: "" }]);
  const resumed = await api.send("POST", `${one}/resume`, {
    headers: { authorization: `Bearer ${team}` },
    body: { owner: "queue:ingest" },
  });
  expect(resumed.status).toBe(403);
});

test("A command that a team's admin sends again has the rights of that admin", async () => {
  await api.send("POST", `${one}/pause`, { body: { owner: "night" } });
  await sendCommands(api, [{ resume: { key: "team:a", owner: "night" } }], "team:");
  const [command] = await dead();
  const again = `/v1/commands/dead/${command?.id}/retry`;
  const refused = await api.send("POST", again, { headers: { authorization: `Bearer ${team}` } });
  expect(refused.status).toBe(403);
  expect(await standing()).toHaveLength(1);
  expect((await api.send("POST", again)).json).toMatchObject({ change: "changed" });
  expect(await standing()).toEqual([]);
});

test("A newer command of the queue that is repeated after a retry has the rights of the admin who retries", async () => {
  await api.clock.advance(1_000);
  const at = api.clock.now();
  await api.sql`
    insert into carillon.dead_commands (message_id, place, command_id, at, key, refused_at, refusal, command)
    values ('old', 0, 'old', ${at}, 'team:a', ${at}, '{"kind": "conflict", "message": "It waited."}',
      ${JSON.stringify({ put: { key: "team:a", ...free, group: "shared" } })}::text::jsonb)`;
  await api.clock.advance(1_000);
  await sendCommands(api, [{ patch: { key: "team:a", group: null } }], "team:");
  await api.send("POST", "/v1/groups/shared/pause", { body: { owner: "night" } });
  expect(await standing()).toEqual([]);
  const [command] = await dead();
  const again = `/v1/commands/dead/${command?.id}/retry`;
  const retried = await api.send("POST", again, { headers: { authorization: `Bearer ${team}` } });
  expect(retried.json).toMatchObject({ change: "changed" });
  expect(await standing()).toMatchObject([{ scope: "group", owner: "night" }]);
  await api.send("POST", "/v1/groups/shared/resume", { body: { owner: "night" } });
});
