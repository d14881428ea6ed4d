import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnApi, ownApi } from "../api/own-api.ts";

let api: OwnApi;
beforeAll(async () => {
  api = await ownApi();
  await api.tick();
});
afterAll(() => api.stop());

const to = "https://b.example.com";
const body = { when: "every 1h", target: { queue: "demo" } };

async function begin(prefix: string, address = to): Promise<string> {
  const { status, json } = await api.send("POST", "/v1/moves", { body: { prefix, to: address } });
  expect(status).toBe(201);
  return `/v1/moves/${(json as { id: string }).id}`;
}

async function step<Answer>(path: string, asked: object): Promise<Answer> {
  const { status, json, body: text } = await api.send("POST", `${path}/steps`, { body: asked });
  expect(status, text).toBe(200);
  return json as Answer;
}

async function take(path: string): Promise<void> {
  const { ids } = await step<{ ids: string[] }>(path, { step: "freeze", after: "", limit: 200 });
  await step(path, { step: "take", schedules: ids });
}

interface PartText {
  id: string;
  part: number;
  key: string | null;
  document: string;
}

const partsOf = async (path: string) => (await step<{ parts: PartText[] }>(path, { step: "parts" })).parts;

test("A request for a schedule that has moved is refused with its new address", async () => {
  await api.send("PUT", "/v1/schedules/away:a", { body });
  const path = await begin("away:");
  await take(path);
  const at = "/v1/schedules/away:a";
  const refused = {
    status: 404,
    body: expect.stringContaining(`is at ${to} since`),
    json: expect.objectContaining({ movedTo: to }),
  };
  for (const suffix of ["", "/next", "/jobs"])
    expect(await api.send("GET", at + suffix)).toMatchObject(refused);
  expect(await api.send("PATCH", at, { body: { tags: [] } })).toMatchObject(refused);
  expect(await api.send("DELETE", at)).toMatchObject(refused);
  const range = { from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" };
  expect(await api.send("POST", `${at}/backfill`, { body: range })).toMatchObject(refused);
  expect(await api.send("PUT", at, { body })).toMatchObject({ ...refused, status: 409 });
  const operations = [{ delete: "away:a" }, { put: { key: "away:a", ...body } }, { delete: "nothing" }];
  const { json } = await api.send("POST", "/v1/schedules:batch", { body: { operations } });
  expect(json).toMatchObject({
    results: [
      { status: 404, error: { detail: refused.body, movedTo: to } },
      { status: 409, error: { detail: refused.body, movedTo: to } },
      { status: 404, error: { detail: "There is no schedule nothing." } },
    ],
  });
});

test("The history of a schedule that has moved can be read at its source", async () => {
  await api.send("PUT", "/v1/schedules/past:a", { body });
  await take(await begin("past:"));
  for (const [path, query] of [
    ["/v1/schedules/past:a/versions", ""],
    ["/v1/schedules/past:a/occurrences", ""],
    ["/v1/jobs", "key=past:a"],
  ] as const)
    expect((await api.send("GET", path, { query })).status).toBe(200);
});

test("The key of a move whose record is deleted is free again", async () => {
  await api.send("PUT", "/v1/schedules/free:a", { body });
  const path = await begin("free:");
  await take(path);
  const parts = await partsOf(path);
  await step(path, { step: "confirm", parts: parts.map(({ id, part }) => ({ id, part })) });
  await step(path, { step: "close" });
  await step(path, { step: "end", abandon: false });
  expect((await api.send("PUT", "/v1/schedules/free:b", { body })).status).toBe(409);
  expect((await api.send("DELETE", path)).status).toBe(204);
  expect((await api.send("PUT", "/v1/schedules/free:b", { body })).status).toBe(201);
});

test("A move takes the address of the other installation without a slash at its end", async () => {
  expect((await api.send("GET", await begin("slash:", `${to}/stage/`))).json).toMatchObject({
    peer: `${to}/stage`,
    progress: { left: 0, taken: 0, unconfirmed: 0 },
  });
  expect((await api.send("GET", await begin("local:", "http://127.0.0.1:8787"))).status).toBe(200);
});

test.each([
  "http://b.example.com",
  "https://ann:secret@b.example.com",
  "https://b.example.com/?token=1",
  "https://b.example.com/#a",
  "ftp://b.example.com",
  "b.example.com",
])("A move to the address %s is refused", async (address) => {
  const { status, json } = await api.send("POST", "/v1/moves", { body: { prefix: "no:", to: address } });
  expect({ status, json }).toMatchObject({ status: 400, json: { errors: [{ path: "to" }] } });
});

test("A part that this release cannot read is refused, and changes nothing", async () => {
  await api.send("PUT", "/v1/schedules/newer:a", { body });
  const source = await begin("newer:");
  await take(source);
  const [part] = await partsOf(source);
  if (part === undefined) throw new Error("The move has no part.");
  const arrival = "/v1/arrivals/0199f3c2-6f0e-7cc1-9d0f-6a8f5e1b2c3d";
  await step(source, { step: "confirm", parts: [{ id: part.id, part: 0 }] });
  await step(source, { step: "end", abandon: true });
  await api.send("PUT", arrival, { body: { prefix: "newer:", from: to } });
  const newer = { ...JSON.parse(part.document), format: 2 };
  for (const document of [JSON.stringify(newer), "{", "[".repeat(10_000)]) {
    const { brought } = await step<{ brought: object[] }>(arrival, {
      step: "bring",
      parts: [{ ...part, document }],
    });
    expect(brought).toMatchObject([{ became: "impossible", refusal: expect.stringContaining("format 1") }]);
  }
  expect((await api.send("GET", arrival)).json).toMatchObject({ progress: { arrived: 0, refused: 0 } });
  const { brought } = await step<{ brought: object[] }>(arrival, { step: "bring", parts: [part] });
  expect(brought).toEqual([{ id: part.id, part: 0, became: "arrived" }]);
  expect((await api.send("GET", "/v1/schedules/newer:a")).json).toMatchObject({ state: "active" });
});
