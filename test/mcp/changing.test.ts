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

test("With --write an agent also gets tools that are marked as changing", async () => {
  const { tools } = await agent.client.listTools();
  const changing = tools.filter(({ annotations }) => annotations?.readOnlyHint === false);
  expect(changing.map(({ name }) => name).sort()).toEqual([
    "cancel_job",
    "hold",
    "patch_schedule",
    "put_schedule",
    "release",
    "retry_jobs",
  ]);
  for (const { annotations, inputSchema } of changing) {
    expect(annotations).toMatchObject({ destructiveHint: true, idempotentHint: true });
    expect(Object.keys(Object(inputSchema.properties))).toContain("confirm");
  }
});

test("put_schedule previews a new schedule, and creates it when it is confirmed", async () => {
  const given = { key: "new", schedule: { when: "0 9 * * *", target: { queue: "demo" } } };
  const { text, data } = await agent.call("put_schedule", given);
  expect(text).toMatch(
    /^PREVIEW: nothing was changed\.\nWould create new\.\nComing runs then:\nat 09:00 every day, UTC\n2\S+T09:00:00\.000Z/,
  );
  expect(data).toMatchObject({ wouldChange: true, preview: { creates: true, version: null, before: [] } });
  expect((await schedule("new"))["status"]).toBe(404);
  const done = await agent.call("put_schedule", { ...given, confirm: data["confirm"] });
  expect(done.text).toMatch(/^Created new: version 1, active, next 2/);
  expect(await schedule("new")).toMatchObject({ cadence: "0 9 * * *", version: 1 });
});

test("A preview names a key, a group or an owner with blanks in quotes", async () => {
  const body = { when: "0 9 * * *", target: { queue: "demo" } };
  const put = await agent.call("put_schedule", { key: "b. Then c", schedule: body });
  expect(put.text).toContain('\nWould create "b. Then c".\n');
  const hold = await agent.call("hold", { group: "g, held" });
  expect(hold.text).toContain('\nWould hold the group "g, held" until it is released.\n');
  const release = await agent.call("release", { key: "a", owner: "x of y" });
  expect(release.text).toContain('a has no hold of "x of y".');
});

test("put_schedule shows each field that would change, and the runs before and after", async () => {
  const { text, data } = await agent.call("put_schedule", {
    key: "a",
    schedule: { when: "every 2h", target: { queue: "demo" }, group: "g" },
  });
  expect(text).toMatch(/\nWould replace a, now at version 1\.\n/);
  for (const line of ['when: "every 1h" → "every 2h"', 'payload: {"n":1} → null', 'tags: ["t"] → []'])
    expect(text).toContain(line);
  const { before, after } = data["preview"] as { before: string[]; after: string[] };
  expect([before.length, after.length]).toEqual([5, 5]);
  expect(before).not.toEqual(after);
  expect(await schedule()).toMatchObject({ version: 1, when: "every 1h" });
});

test("A put that changes nothing gives no token", async () => {
  const { text, data } = await agent.call("put_schedule", {
    key: "a",
    schedule: { ...hourly, payload: { n: 1 } },
  });
  expect(text).toMatch(/nothing to confirm\.$/);
  expect(data).toMatchObject({ wouldChange: false });
  expect(data).not.toHaveProperty("confirm");
});

test("patch_schedule previews by the server's dry run, and changes the named fields when it is confirmed", async () => {
  const given = { key: "a", patch: { when: "every 3h", description: "slower" } };
  const { text, data } = await agent.call("patch_schedule", given);
  expect(text).toMatch(/\nwhen: "every 1h" → "every 3h"\ndescription: null → "slower"\nComing runs now: 2/);
  expect(data).toMatchObject({
    preview: { version: 1, before: expect.any(Array), after: expect.any(Array) },
  });
  expect((await schedule())["version"]).toBe(1);
  const done = await agent.call("patch_schedule", { ...given, confirm: data["confirm"] });
  expect(done.text).toMatch(/^Changed a: version 2, active/);
  expect(await schedule()).toMatchObject({
    version: 2,
    when: "every 3h",
    description: "slower",
    payload: { n: 1 },
  });
});

test("A patch that the server would refuse gives no token", async () => {
  for (const [patch, why] of [
    [{ timezone: "Europe/Nowhere" }, /timezone/],
    [{ calendar: { name: "none" } }, /^It would be refused: .*calendar/],
    [{ wen: "every 1h" }, /wen/],
  ] as const) {
    const { text, data, isError } = await agent.call("patch_schedule", { key: "a", patch });
    expect([isError, text]).toEqual([true, expect.stringMatching(why)]);
    expect(data).not.toHaveProperty("confirm");
  }
});

test("A preview never shows a credential", async () => {
  const webhook = { url: "https://example.com/", headers: { Authorization: "Bearer hidden-token" } };
  for (const [tool, given] of [
    ["put_schedule", { key: "b", schedule: { when: "every 1h", target: { webhook } } }],
    ["patch_schedule", { key: "a", patch: { target: { queue: null, webhook } } }],
  ] as const) {
    const { text, data, isError } = await agent.call(tool, given);
    expect([isError, text]).toEqual([false, expect.not.stringContaining("hidden-token")]);
    expect(JSON.stringify(data)).not.toContain("hidden-token");
  }
});

test("hold shows the runs that it would hold, and release the hold that it would release", async () => {
  const given = { key: "a", reason: "under repair", until: "in 150m" };
  const { text, data } = await agent.call("hold", given);
  expect(text).toMatch(
    /\nWould hold a, now at version 1, until 2\S+Z\.\nRuns that would be held, of the next five:\n/,
  );
  expect((data["preview"] as { held: unknown[] }).held).toHaveLength(2);
  expect((await schedule())["state"]).toBe("active");
  const held = await agent.call("hold", { ...given, confirm: data["confirm"] });
  expect(held.text).toMatch(/^Held a: version 2, paused/);
  expect(await schedule()).toMatchObject({
    state: "paused",
    holds: [{ owner: "adminer", reason: "under repair" }],
  });

  const freed = await agent.call("release", { key: "a" });
  expect(freed.text).toMatch(
    /\nWould release a, now at version 2, held by adminer since .*: "under repair"\.\nMissed runs follow catchUp: latest\./,
  );
  const done = await agent.call("release", { key: "a", confirm: freed.data["confirm"] });
  expect(done.text).toMatch(/^Released a: version 3, active/);
  expect(await schedule()).toMatchObject({ state: "active", holds: [] });
});

test("The release of a schedule without a hold of the token's own gives no token", async () => {
  await person.send("POST", "/v1/schedules/a/pause", { owner: "ann" });
  const { text, data } = await agent.call("release", { key: "a" });
  expect(text).toMatch(/^a has no hold of adminer\.\nIt stays held by ann since /);
  expect(data).not.toHaveProperty("confirm");
});

test.each(["group", "tag"] as const)("hold and release of a %s count its schedules", async (label) => {
  const given = { [label]: label.slice(0, 1) };
  const held = await agent.call("hold", { ...given, reason: "quiet" });
  expect(held.text).toMatch(
    / has 1 schedule, 0 of them held now: a\.\nSchedules that join it later are held too\./,
  );
  expect((await schedule())["state"]).toBe("active");
  expect(
    (await agent.call("hold", { ...given, reason: "quiet", confirm: held.data["confirm"] })).text,
  ).toMatch(/: 1 schedule so far\.$/);
  expect((await schedule())["state"]).toBe("paused");
  const freed = await agent.confirm("release", given);
  expect(freed.text).toMatch(/^Released the .*: 1 schedule so far\.$/);
  expect((await schedule())["state"]).toBe("active");
  const nothing = await agent.call("release", given);
  expect(nothing.text).toMatch(/^Would release nothing of adminer /);
  expect(nothing.data).not.toHaveProperty("confirm");
});

test("hold takes exactly one of key, group and tag", async () => {
  for (const given of [{}, { key: "a", tag: "t" }])
    expect(await agent.call("hold", given)).toMatchObject({
      isError: true,
      text: "Give exactly one of key, group and tag.",
    });
});

test("retry_jobs by a filter retries the dead jobs that its preview counted, and none that died since", async () => {
  await person.dies("a");
  const given = { filter: { key: "a" }, reason: "the database is back" };
  const { text, data } = await agent.call("retry_jobs", given);
  expect(text).toMatch(/\nWould retry 1 dead job, as of 2\S+Z:\n\S+ a: dead/);
  await person.dies("a");
  const done = await agent.call("retry_jobs", { ...given, confirm: data["confirm"] });
  expect(done.text).toMatch(/^Retried 1 job\.\nsearch_jobs with entry \d+ lists them/);
  expect((await person.jobsOf("a")).map(({ state }) => state).sort()).toEqual(["dead", "retrying"]);
  const followed = await agent.call("search_jobs", { entry: done.data["entry"] });
  expect(followed.text).toMatch(/ a: retrying/);
  expect((await agent.call("retry_jobs", { filter: { key: "none" } })).text).toMatch(/nothing to confirm\.$/);
});

test("retry_jobs of one job is refused if the job has changed since the preview", async () => {
  await person.dies("a");
  const [job] = await person.jobsOf("a");
  const given = { id: job?.id };
  const { data } = await agent.call("retry_jobs", given);
  await person.send("POST", `/v1/jobs/${job?.id}/retry`);
  const late = await agent.call("retry_jobs", { ...given, confirm: data["confirm"] });
  expect(late).toMatchObject({ isError: true });
  expect(late.text).toMatch(/changed after the preview: it is retrying now/);
  expect((await agent.call("retry_jobs", given)).text).toBe(
    "It would be refused: the job is retrying, not dead or cancelled.",
  );
  const cancelled = await agent.confirm("cancel_job", given);
  expect(cancelled.text).toMatch(/^Done: \S+ a: cancelled/);
  expect((await agent.confirm("retry_jobs", given)).text).toMatch(/^Done: \S+ a: (waiting|retrying)/);
});

test("A relative time counts from the confirming call, and the preview says so", async () => {
  const given = { key: "new", schedule: { when: "in 3h", target: { queue: "demo" } } };
  const { text } = await agent.call("put_schedule", given);
  expect(text).toContain("`when` is relative: it counts from the confirming call, not from now.");
});

test("The scope of the token binds the agent also with --write", async () => {
  const reader = await agents.agent({ args: ["--write"], env: { CARILLON_TOKEN: "read-token" } });
  const done = await reader.confirm("put_schedule", { key: "new", schedule: hourly });
  expect(done).toMatchObject({ isError: true, data: { error: { status: 403 } } });
  expect((await schedule("new"))["status"]).toBe(404);
});

test("A whole number that lost digits on the way is refused, and a large one with an exponent is not", async () => {
  const put = (payload: unknown) =>
    agent.call("put_schedule", { key: "new", schedule: { ...hourly, payload } });
  const { text, isError } = await put({ ids: [1, 2 ** 53] });
  expect([isError, text]).toEqual([
    true,
    "The number 9007199254740992 cannot be kept exactly; send it as a string.",
  ]);
  expect((await put({ n: [1e300, 0.1, 2 ** 53 - 1] })).isError).toBe(false);
});

test("A retry with an end in the future takes no job that died after the preview", async () => {
  await person.dies("a");
  const given = { filter: { key: "a", to: "in 1h" } };
  const { data } = await agent.call("retry_jobs", given);
  await person.dies("a");
  // The count bounds the retry too, so a first retry of the counted job must not make room for another.
  const [counted] = (data["preview"] as { samples: { id: string }[] }).samples;
  await person.send("POST", `/v1/jobs/${counted?.id}/retry`);
  expect((await agent.call("retry_jobs", { ...given, confirm: data["confirm"] })).text).toMatch(
    /^Retried 0 jobs\./,
  );
});
