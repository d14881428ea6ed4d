import { afterEach, beforeEach, expect, test } from "vitest";
import { twoClis } from "./two-clis.ts";

const two = twoClis();
const env = { CARILLON_TO_TOKEN: "admin-token" };

let nth = 0;
let prefix = "";

const move = async (moved: string, more: readonly string[] = []) => {
  const args = ["move", "--prefix", moved, "--to", two.other.url, "--wait", "0s", "--yes", ...more];
  expect(await two.old.carillon(args, { env })).toMatchObject({ code: 0 });
};

const put = async (...names: string[]) => {
  for (const name of names) {
    const body = { when: "every 1h", target: { queue: "demo" } };
    const { status } = await two.old.api.send("PUT", `/v1/schedules/${prefix}${name}`, { body });
    expect(status).toBe(201);
  }
};

const post = async (verb: string, body: object, parts: object = {}) =>
  (await two.old.api.send("POST", `/v1/schedules:${verb}`, { body, ...parts })).json;

beforeEach(async () => {
  nth += 1;
  prefix = `moved-${nth}:`;
  await put("eu:a", "eu:b", "us:a");
});

afterEach(async () => {
  await two.old.carillon(["rm", "--prefix", prefix, "--yes"]);
});

const noteOf = (which: string) => `${which} at ${two.other.url} (carillon move).\n`;

test("A bulk action by prefix says which schedules of the prefix have moved to another installation, and so does its dry run", async () => {
  await move(`${prefix}eu:`);
  const note = noteOf(`2 schedules of "${prefix}" are`);
  const pause = ["pause", "--prefix", prefix];
  expect(await two.old.carillon([...pause, "--dry-run"])).toMatchObject({
    code: 0,
    out: `${prefix}us:a\n1 schedule would be held, without an end.\n`,
    err: note,
  });
  expect(await two.old.carillon([...pause, "--yes"])).toEqual({
    code: 0,
    out: "Held 1 schedule.\n",
    err: note,
  });
  const movedTo = [{ to: two.other.url, schedules: 2, more: false }];
  expect(await post("resume", { filter: { prefix }, dryRun: true })).toMatchObject({ count: 1, movedTo });
  expect(await post("resume", { filter: { prefix } })).toMatchObject({ done: 1, movedTo });
});

test("A bulk action on a prefix that has moved as a whole says so instead of only that none matches", async () => {
  await move(prefix);
  const note = noteOf(`3 schedules of "${prefix}" are`);
  expect(await two.old.carillon(["rm", "--prefix", prefix, "--yes"])).toEqual({
    code: 0,
    out: "Deleted 0 schedules.\n",
    err: note,
  });
  expect(await two.old.carillon(["rm", "--prefix", prefix], { answer: "y" })).toEqual({
    code: 0,
    out: "",
    err: `No schedule matches.\n${note}`,
  });
  const { out } = await two.old.carillon(["rm", "--prefix", prefix, "--json"], { answer: "y" });
  expect(JSON.parse(out)).toMatchObject({ done: 0, movedTo: [{ schedules: 3 }] });
});

test("An empty list and a count of a prefix name the installation that has its schedules", async () => {
  await move(`${prefix}us:`);
  const note = noteOf(`1 schedule of "${prefix}us:" is`);
  expect(await two.old.carillon(["ls", `${prefix}us:`])).toMatchObject({
    code: 0,
    err: expect.stringContaining(note),
  });
  expect(await two.old.carillon(["ls", `${prefix}us:`, "--count"])).toEqual({
    code: 0,
    out: "0\n",
    err: note,
  });
  const { out } = await two.old.carillon(["ls", `${prefix}us:`, "--count", "--json"]);
  expect(JSON.parse(out)).toMatchObject({ count: 0, movedTo: [{ to: two.other.url, schedules: 1 }] });
});

test("A bulk action names no other installation for another prefix, for named keys, or without a prefix", async () => {
  await move(`${prefix}eu:`);
  const dryRun = true;
  expect(await post("pause", { filter: { prefix: `${prefix}us:` }, dryRun })).not.toHaveProperty("movedTo");
  expect(await post("pause", { keys: [`${prefix}us:a`], dryRun })).not.toHaveProperty("movedTo");
  expect(await post("pause", { filter: { tag: "none" }, dryRun })).not.toHaveProperty("movedTo");
});

test("A token with a prefix is shown only moved schedules of its own prefix", async () => {
  const body = { name: `us-${nth}`, scope: "write", prefix: `${prefix}us:` };
  const { json } = await two.old.api.send("POST", "/v1/tokens", { body });
  const headers = { authorization: `Bearer ${(json as { token: string }).token}` };
  await move(prefix);
  const found = await post("pause", { filter: { tag: "none" }, dryRun: true }, { headers });
  expect(found).toMatchObject({ count: 0, movedTo: [{ schedules: 1 }] });
});

test("Schedules that have moved back are not counted as moved, even if they have been deleted since", async () => {
  await move(prefix);
  await move(prefix, ["--undo"]);
  const dryRun = true;
  expect(await post("pause", { filter: { prefix }, dryRun })).not.toHaveProperty("movedTo");
  await two.old.carillon(["rm", `${prefix}eu:a`, "--yes"]);
  const found = await post("pause", { filter: { prefix }, dryRun });
  expect(found).toMatchObject({ count: 2 });
  expect(found).not.toHaveProperty("movedTo");
});
