import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Issued, issueToken, withToken } from "./issued-token.ts";
import { type ApiAnswer, type OwnApi, ownApi } from "./own-api.ts";

/** The limits of holds, against a team that invents owners. */

let api: OwnApi;
let ours: Issued;
let theirs: Issued;

const body = { when: "every 1h", target: { queue: "demo" }, group: "shared", tags: ["shared"] };

beforeAll(async () => {
  api = await ownApi();
  await api.tick();
  ours = await issueToken(api, { name: "ours", prefix: "ours:" });
  theirs = await issueToken(api, { name: "theirs", prefix: "theirs:" });
  for (const key of ["ours:a", "theirs:a"]) await api.send("PUT", `/v1/schedules/${key}`, { body });
});

afterAll(() => api.stop());

const pause = (path: string, owner: string, by?: Issued): Promise<ApiAnswer> =>
  api.send("POST", `${path}/pause`, { ...withToken(by), body: { owner } });
const resume = (path: string, owner: string, by?: Issued): Promise<ApiAnswer> =>
  api.send("POST", `${path}/resume`, { ...withToken(by), body: { owner } });

const invented = (many: number) => Array.from({ length: many }, (_, n) => `invented ${n}`);

describe.each(["group", "tag"])("the limit of holds of a %s", (scope) => {
  const path = `/v1/${scope}s/shared`;

  test("A team that invents owners at once reaches its limit, and blocks neither another team nor an admin", async () => {
    const answers = await Promise.all(invented(60).map((owner) => pause(path, owner, ours)));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(10);
    for (const { status, json } of refused) {
      expect(status).toBe(409);
      expect(json).toMatchObject({
        detail: `Callers of the prefix "ours:" have 50 holds of the ${scope} "shared" for the same keys, and at most 50 are allowed: release one of them first, by its \`owner\`.`,
      });
    }
    expect((await pause(path, "night", theirs)).status).toBe(200);
    expect((await pause(path, "night")).status).toBe(200);
    await resume(path, "night", theirs);
    await resume(path, "night");
  });

  test("A token that the team makes counts with it, for its own keys, and so does a rotated one", async () => {
    const child = await issueToken(api, { name: `ours:child:${scope}`, prefix: "ours:child:" }, ours);
    expect((await pause(path, "by the child", child)).status).toBe(409);
    const rotated = await api.send("POST", `/v1/tokens/${ours.id}/rotate`, withToken(ours));
    ours = rotated.json as Issued;
    expect((await pause(path, "after the rotation", ours)).status).toBe(409);
  });

  test("A release makes room, and a hold that stands can be changed without room", async () => {
    const { json } = await api.send("GET", path, withToken(ours));
    const [first, second] = (json as { holds: { owner: string }[] }).holds;
    const change = { ...withToken(ours), body: { owner: first?.owner, reason: "another" } };
    expect((await api.send("POST", `${path}/pause`, change)).status).toBe(200);
    expect((await resume(path, second?.owner ?? "", ours)).status).toBe(200);
    expect((await pause(path, "in its place", ours)).status).toBe(200);
    expect((await pause(path, "one more", ours)).status).toBe(409);
  });

  test("All prefixes of a team together have a limit too, which is not that of an admin of all keys", async () => {
    await api.sql`
      insert into carillon.shared_holds (scope, name, owner, since, author, reached, prefix, team)
      select ${scope}, 'wide', 'ann', carillon.clock(), 'ann', null, 'ours:' || n || ':', 'ours:' from generate_series(1, 1000) n`;
    const child = await issueToken(api, { name: `ours:last:${scope}`, prefix: "ours:last:" }, ours);
    const refused = await pause(`/v1/${scope}s/wide`, "one more", child);
    expect(refused).toMatchObject({
      status: 409,
      json: {
        detail: `Callers of the prefix "ours:" have 1000 holds of the ${scope} "wide", and at most 1000 are allowed: release one of them first, by its \`owner\`.`,
      },
    });
    expect((await pause(`/v1/${scope}s/wide`, "night", theirs)).status).toBe(200);
    expect((await pause(`/v1/${scope}s/wide`, "night")).status).toBe(200);
  });

  test("Admins of all keys have a limit of their own", async () => {
    const answers = [];
    for (const owner of invented(51)) answers.push(await pause(`/v1/${scope}s/nothing`, owner));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(50);
    expect(answers.at(-1)?.json).toMatchObject({
      detail: expect.stringMatching(/^Callers that reach all keys have 50 holds/),
    });
    expect((await pause(`/v1/${scope}s/nothing`, "night", ours)).status).toBe(200);
  });
});

describe("the limit of holds of a schedule", () => {
  const path = "/v1/schedules/ours:a";

  test("A team that invents owners at once reaches its limit, and blocks no admin of all keys", async () => {
    const answers = await Promise.all(invented(105).map((owner) => pause(path, owner, ours)));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(5);
    for (const { status, json } of refused) {
      expect(status).toBe(422);
      expect(json).toMatchObject({
        detail:
          'Callers of the prefix "ours:" have 100 holds of this schedule, and at most 100 are allowed: release one of them first, by its `owner`.',
      });
    }
    expect((await pause(path, "night")).status).toBe(200);
  });

  test("A body with `paused` and a batch are refused at the limit too", async () => {
    const paused = { ...withToken(ours), body: { ...body, paused: true } };
    expect((await api.send("PUT", path, paused)).status).toBe(422);
    expect((await api.send("PATCH", path, { ...withToken(ours), body: { paused: true } })).status).toBe(422);
    const operations = [{ pause: { key: "ours:a", owner: "one more" } }];
    const batch = await api.send("POST", "/v1/schedules:batch", { ...withToken(ours), body: { operations } });
    expect(batch.json).toMatchObject({ results: [{ status: 422 }] });
  });

  test("A release makes room", async () => {
    const { json } = await api.send("GET", path, withToken(ours));
    const owners = (json as { holds: { owner: string; group?: string; tag?: string }[] }).holds;
    const own = owners.find(({ owner, group, tag }) => owner !== "night" && group == null && tag == null);
    expect((await resume(path, own?.owner ?? "", ours)).status).toBe(200);
    expect((await api.send("PATCH", path, { ...withToken(ours), body: { paused: true } })).status).toBe(200);
  });
});
