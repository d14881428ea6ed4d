import { expect, test } from "vitest";
import type { OwnCli } from "../cli/own-cli.ts";
import { twoClis } from "./two-clis.ts";

const two = twoClis();

/** No program listens at this port. */
const deadUrl = "http://127.0.0.1:9";

const move = (prefix: string, to: string, more: readonly string[] = [], token = "admin-token") =>
  two.old.carillon(["move", "--prefix", prefix, "--to", to, "--wait", "0s", "--yes", ...more], {
    env: { CARILLON_TO_TOKEN: token },
  });

const put = (key: string) =>
  two.old.api.send("PUT", `/v1/schedules/${key}`, { body: { when: "every 1h", target: { queue: "demo" } } });

async function openMoves({ api }: OwnCli, prefix: string): Promise<string[]> {
  const { items } = (await api.send("GET", "/v1/moves")).json as {
    items: { id: string; prefix: string; endedAt: string | null }[];
  };
  return items.filter((each) => each.prefix === prefix && each.endedAt === null).map(({ id }) => id);
}

async function beginAtSource(prefix: string, to: string): Promise<string> {
  const { json } = await two.old.api.send("POST", "/v1/moves", { body: { prefix, to } });
  const { id } = json as { id: string };
  await two.old.api.send("POST", `/v1/moves/${id}/steps`, { body: { step: "freeze", after: "", limit: 10 } });
  return id;
}

test("A move begins nowhere if the destination refuses the token or does not answer, and then goes to the right one", async () => {
  await put("early:a");
  expect(await move("early:", two.other.url, [], "wrong")).toMatchObject({
    code: 1,
    err: expect.stringContaining(`${two.other.url} refuses the token of the move`),
  });
  expect(await move("early:", two.other.url, [], "read-token")).toMatchObject({
    code: 1,
    err: expect.stringContaining("A move needs a token with the scope admin for all keys."),
  });
  expect(await move("early:", deadUrl)).toMatchObject({
    code: 3,
    err: expect.stringContaining("does not answer"),
  });
  expect(await openMoves(two.old, "early:")).toEqual([]);
  expect(await move("early:", two.other.url, ["--finish"])).toMatchObject({ code: 0 });
});

test("A move that its destination refuses to take in is not left open at the source", async () => {
  expect(await move("self:", two.old.url)).toMatchObject({
    code: 5,
    err: expect.stringContaining("begins in this installation"),
  });
  expect(await openMoves(two.old, "self:")).toEqual([]);
});

test("An undo ends a move of which nothing was taken although its destination does not answer", async () => {
  await put("dead:a");
  await beginAtSource("dead:", deadUrl);
  const { code, out, err } = await move("dead:", deadUrl, ["--undo"]);
  expect({ code, out }).toEqual({
    code: 0,
    out: 'No schedule of "dead:" had been moved.\nReleased 1 schedule that the move had stopped.\n',
  });
  expect(err).toContain(`The move has ended at ${two.old.url} alone.`);
  expect(await openMoves(two.old, "dead:")).toEqual([]);
  expect((await two.old.api.send("GET", "/v1/schedules/dead:a")).json).toMatchObject({ state: "active" });
});

test("An undo without --to ends a move of which nothing was taken, and asks for --to once schedules have left", async () => {
  await put("named:a");
  const id = await beginAtSource("named:", two.other.url);
  const undo = () => two.old.carillon(["move", "--prefix", "named:", "--undo", "--yes"]);
  expect(await undo()).toMatchObject({ code: 0, out: expect.stringContaining("Released 1 schedule") });
  expect(await openMoves(two.old, "named:")).toEqual([]);
  expect(await undo()).toMatchObject({ code: 0 });
  expect(await move("named:", two.other.url)).toMatchObject({ code: 0 });
  expect(await undo()).toMatchObject({ code: 2, err: expect.stringContaining(`--to ${two.other.url}`) });
  expect((await openMoves(two.old, "named:")).includes(id)).toBe(false);
  expect(await move("named:", two.other.url, ["--undo"])).toMatchObject({ code: 0 });
});

test("--status shows the numbers of the source although the other installation cannot be asked", async () => {
  await put("shown:a");
  await beginAtSource("shown:", deadUrl);
  const args = ["move", "--status", "--prefix", "shown:", "--to", deadUrl, "--json"];
  const { code, out, err } = await two.old.carillon(args, { env: { CARILLON_TO_TOKEN: "admin-token" } });
  expect(code, err).toBe(0);
  expect(err).toContain(`The numbers of ${deadUrl} are missing.`);
  expect(JSON.parse(out)).toMatchObject({ left: 1, taken: 0, arrived: null });
});
