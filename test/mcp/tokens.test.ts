import { expect, test } from "vitest";
import type { Beside } from "./beside.ts";
import type { Agent, OwnAgents } from "./own-agent.ts";
import { hourly, withWritingAgent } from "./with-writing-agent.ts";

let agents: OwnAgents;
let agent: Agent;
let person: Beside;

withWritingAgent((opened) => {
  ({ agents, agent, person } = opened);
});

const schedule = (key = "a") => person.schedule(key);

/** The token of a preview. */
async function token(tool: string, given: Record<string, unknown>): Promise<string> {
  const { data, text } = await agent.call(tool, given);
  expect(data["confirm"], text).toBeTypeOf("string");
  return String(data["confirm"]);
}

test("A token confirms one call only", async () => {
  const given = { key: "a", patch: { description: "once" } };
  const confirm = await token("patch_schedule", given);
  expect((await agent.call("patch_schedule", { ...given, confirm })).isError).toBe(false);
  const again = await agent.call("patch_schedule", { ...given, confirm });
  expect(again.text).toMatch(/^The token was used already/);
  expect([again.isError, (await schedule())["version"]]).toEqual([true, 2]);
});

test("A token is refused with other arguments, with another tool, in another session, and if it is made up", async () => {
  const given = { key: "a", patch: { description: "mine" } };
  const confirm = await token("patch_schedule", given);
  const other = await agents.agent({ args: ["--write"] });
  for (const [session, tool, arguments_, why] of [
    [
      agent,
      "patch_schedule",
      { key: "a", patch: { description: "else" } },
      /^The token confirms other arguments/,
    ],
    [agent, "hold", { key: "a" }, /^The token confirms a call of patch_schedule, not of hold/],
    [other, "patch_schedule", given, /^confirm is not a token of this session/],
  ] as const) {
    const { text, isError } = await session.call(tool, { ...arguments_, confirm });
    expect([isError, text]).toEqual([true, expect.stringMatching(why)]);
  }
  const madeUp = await agent.call("patch_schedule", { ...given, confirm: "yes" });
  expect([madeUp.isError, madeUp.text]).toEqual([true, expect.stringMatching(/^confirm is not a token/)]);
  expect((await schedule())["version"]).toBe(1);
  expect((await agent.call("patch_schedule", { ...given, confirm })).isError).toBe(false);
});

test("A token is refused ten minutes after its preview", async () => {
  const given = { key: "a", patch: { description: "late" } };
  const confirm = await token("patch_schedule", given);
  agent.passTime(11 * 60_000);
  const { text, isError } = await agent.call("patch_schedule", { ...given, confirm });
  expect([isError, text]).toEqual([true, expect.stringMatching(/^The token expired at 2/)]);
  expect((await schedule())["version"]).toBe(1);
});

test.each([
  ["put_schedule", { key: "a", schedule: { when: "every 5h", target: { queue: "demo" } } }],
  ["patch_schedule", { key: "a", patch: { when: "every 5h" } }],
  ["hold", { key: "a" }],
])("A confirmed %s is refused if the schedule was changed after the preview", async (tool, given) => {
  const confirm = await token(tool, given);
  await person.send("PATCH", "/v1/schedules/a", { description: "changed meanwhile" });
  const { text, isError } = await agent.call(tool, { ...given, confirm });
  expect([isError, text]).toEqual([true, expect.stringMatching(/\(412\)\nIt was changed after the preview/)]);
  expect(await schedule()).toMatchObject({ version: 2, when: "every 1h", state: "active" });
});

test("A confirmed put of a new key is refused if another caller has made the schedule meanwhile", async () => {
  const given = { key: "new", schedule: { when: "every 5h", target: { queue: "demo" } } };
  const confirm = await token("put_schedule", given);
  await person.send("PUT", "/v1/schedules/new", hourly);
  expect((await agent.call("put_schedule", { ...given, confirm })).text).toMatch(/\(412\)/);
  expect(await schedule("new")).toMatchObject({ when: "every 1h", version: 1 });
});
