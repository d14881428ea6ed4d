import { afterEach, expect, test, vi } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import type { CliParts, OwnCli } from "../cli/own-cli.ts";
import { twoClis } from "./two-clis.ts";

const two = twoClis();

afterEach(() => {
  vi.restoreAllMocks();
});

const env = { CARILLON_TO_TOKEN: "admin-token" };

const move = (prefix: string, more: readonly string[] = [], parts: CliParts = {}) =>
  two.old.carillon(
    ["move", "--prefix", prefix, "--to", two.other.url, "--page", "2", "--wait", "0s", "--yes", ...more],
    { env, ...parts },
  );

const names = ["a", "b", "c"];

async function putAll(prefix: string, more: object = {}): Promise<void> {
  for (const name of names) {
    const body = { when: "every 1h", target: { queue: "demo" }, ...more };
    expect((await two.old.api.send("PUT", `/v1/schedules/${prefix}${name}`, { body })).status).toBe(201);
  }
}

const stateIn = async ({ api }: OwnCli, key: string) => {
  const { status, json } = await api.send("GET", `/v1/schedules/${key}`);
  return status === 404 ? null : (json as { state: string }).state;
};

/** The state of each schedule of a prefix, in both installations. */
async function places(prefix: string) {
  const found: Record<string, (string | null)[]> = {};
  for (const name of names)
    found[name] = [await stateIn(two.old, `${prefix}${name}`), await stateIn(two.other, `${prefix}${name}`)];
  return found;
}

const all = (place: (string | null)[]) => Object.fromEntries(names.map((name) => [name, place]));
const moved = all([null, "active"]);
const unmoved = all(["active", null]);

/**
 * Runs a command that ends as the answer to its n-th request arrives, as if it was killed: the
 * installation has carried the request out. False if the command sends fewer requests.
 */
async function killed(n: number, prefix: string, more: readonly string[]): Promise<boolean> {
  const stop = new AbortController();
  const send = globalThis.fetch;
  let sent = 0;
  const spy = vi.spyOn(globalThis, "fetch").mockImplementation(async (...request) => {
    const answer = await send(...request);
    const text = await answer.text();
    sent += 1;
    if (sent === n) stop.abort();
    stop.signal.throwIfAborted();
    return new Response(text === "" ? null : text, answer);
  });
  const { code, err } = await move(prefix, more, { signal: stop.signal });
  spy.mockRestore();
  expect(code, err).toBe(sent < n ? 0 : 130);
  return sent >= n;
}

test("carillon move takes all schedules of a prefix to the other installation, and --finish closes the prefix", async () => {
  await putAll("acme:");
  await two.old.api.send("PUT", "/v1/schedules/beta:a", {
    body: { when: "every 1h", target: { queue: "demo" } },
  });
  const first = await move("acme:");
  expect(first).toEqual({
    code: 0,
    out: `Moved 3 schedules of "acme:" from ${two.old.url} to ${two.other.url}.\nNew schedules of "acme:" can still be made at ${two.old.url}. Send the callers to ${two.other.url}, then run the command with --finish.\n`,
    err: "2 schedules so far\n3 schedules so far\n",
  });
  expect(await places("acme:")).toEqual(moved);
  expect(await stateIn(two.old, "beta:a")).toBe("active");
  const late = { when: "every 1h", target: { queue: "demo" } };
  expect((await two.old.api.send("PUT", "/v1/schedules/acme:late", { body: late })).status).toBe(201);
  const last = await move("acme:", ["--finish"]);
  expect(last).toMatchObject({ code: 0, out: expect.stringContaining("Moved 1 schedule of") });
  expect(last.out).toContain("4 in all.\nThe move has ended.");
  expect(await stateIn(two.other, "acme:late")).toBe("active");
  const refused = await two.old.api.send("PUT", "/v1/schedules/acme:new", { body: late });
  expect(refused).toMatchObject({ status: 409, body: expect.stringContaining(two.other.url) });
  expect(await two.old.api.send("GET", "/v1/schedules/acme:a")).toMatchObject({
    status: 404,
    body: expect.stringContaining(two.other.url),
  });
  const got = await two.old.carillon(["get", "acme:a"]);
  expect(got).toMatchObject({ code: 4, err: expect.stringContaining(two.other.url) });
  expect(got.err).not.toContain("was deleted");
  expect(await move("acme:", ["--finish", "--json"])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/"moved":0,"taken":4,"arrived":4,"left":\[\],"ended":true/),
  });
});

test("A move that is killed at any request goes on when the command runs again", async () => {
  let n = 1;
  for (let isKilled = true; isKilled; n++) {
    const prefix = `killed-${n}:`;
    await putAll(prefix);
    isKilled = await killed(n, prefix, ["--finish"]);
    expect(await move(prefix, ["--finish"])).toMatchObject({ code: 0 });
    expect(await places(prefix)).toEqual(moved);
    const { items } = (await two.other.api.send("GET", "/v1/moves")).json as { items: object[] };
    expect(items.filter((each) => JSON.stringify(each).includes(prefix))).toHaveLength(1);
  }
  expect(n).toBeGreaterThan(20);
}, 120_000);

test("A move that is killed at any request can be undone", async () => {
  // The first request asks the destination, and has begun nothing yet.
  let n = 2;
  for (let isKilled = true; isKilled; n++) {
    const prefix = `stopped-${n}:`;
    await putAll(prefix);
    isKilled = await killed(n, prefix, ["--finish"]);
    expect(await move(prefix, ["--undo"])).toMatchObject({ code: 0 });
    expect(await places(prefix)).toEqual(unmoved);
  }
  expect(n).toBeGreaterThan(20);
}, 120_000);

test("An undo that is killed at any request goes on when the command runs again", async () => {
  let n = 1;
  for (let isKilled = true; isKilled; n++) {
    const prefix = `undone-${n}:`;
    await putAll(prefix);
    expect(await move(prefix, n % 2 === 0 ? ["--finish"] : [])).toMatchObject({ code: 0 });
    isKilled = await killed(n, prefix, ["--undo"]);
    expect(await move(prefix, ["--undo"])).toMatchObject({ code: 0 });
    expect(await places(prefix)).toEqual(unmoved);
    const again = { when: "every 2h", target: { queue: "demo" } };
    expect((await two.old.api.send("PUT", `/v1/schedules/${prefix}new`, { body: again })).status).toBe(201);
  }
  expect(n).toBeGreaterThan(20);
}, 120_000);

test("A schedule that cannot be moved stays with its reason, and the command exits with 5", async () => {
  const target = { webhook: { url: "https://example.com/in", headers: { authorization: "abc" } } };
  await two.old.api.send("PUT", "/v1/schedules/stay:a", { body: { when: "every 1h", target } });
  const { code, out, err } = await move("stay:", ["--finish"]);
  expect({ code, out }).toEqual({
    code: 5,
    out: `Moved 0 schedules of "stay:" from ${two.old.url} to ${two.other.url}.\n`,
  });
  expect(err).toMatch(
    /^1 schedule not moved: its webhook has credentials.* docs\/move\.md#schedules-that-are-not-moved has the steps\.\n {2}stay:a\n1 schedule could not be moved\.\n$/,
  );
  expect(await stateIn(two.old, "stay:a")).toBe("active");
  const status = await two.old.carillon(
    ["move", "--status", "--prefix", "stay:", "--to", two.other.url, "--json"],
    {
      env,
    },
  );
  expect(JSON.parse(status.out)).toMatchObject({
    prefix: "stay:",
    peer: two.other.url,
    closedAt: null,
    left: 1,
    taken: 0,
    unconfirmed: 0,
    arrived: 0,
  });
  expect(await two.other.carillon(["move", "--status", "--prefix", "stay:"])).toMatchObject({
    code: 0,
    out: expect.stringMatching(new RegExp(`stay: +from ${two.old.url} .*allowed`)),
  });
  expect(await move("stay:", ["--undo"])).toMatchObject({ code: 0 });
});

test("A schedule whose job is running is stopped, and is moved by the next run after the job has ended", async () => {
  const { api } = two.old;
  await api.send("PUT", "/v1/schedules/busy:a", { body: { when: "every 1h", target: { queue: "demo" } } });
  await api.send("POST", "/v1/schedules/busy:a/fire");
  const [row] = await api.sql<{ id: string }[]>`
    select p.id from carillon.parcels p join carillon.schedules s on s.id = any(p.schedule_ids) where s.key = 'busy:a'`;
  const parcel = await claimParcel(api.sql, row?.id ?? "0", 30_000);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
  const { code, err } = await move("busy:");
  expect({ code, err }).toMatchObject({ code: 5, err: expect.stringContaining("is running") });
  expect(await stateIn(two.old, "busy:a")).toBe("paused");
  await settleParcel(api.sql, parcel, [{ kind: "succeeded" }]);
  expect(await move("busy:", ["--finish"])).toMatchObject({ code: 0 });
  expect([await stateIn(two.old, "busy:a"), await stateIn(two.other, "busy:a")]).toEqual([null, "active"]);
});

test("A schedule that the destination refuses runs at the source again", async () => {
  const body = { when: "every 1h", target: { queue: "demo" }, calendar: { name: "days" } };
  await two.old.api.send("PUT", "/v1/calendars/days", { body: { weekly: ["sun"] } });
  await two.old.api.send("PUT", "/v1/schedules/refused:a", { body });
  const { code, err } = await move("refused:");
  expect(code).toBe(5);
  expect(err).toContain("the destination refused it");
  expect(err).toContain('  refused:a: The schedule refused:a uses the calendar "days", which is not here.\n');
  expect(await stateIn(two.old, "refused:a")).toBe("active");
  await two.other.api.send("PUT", "/v1/calendars/days", { body: { weekly: ["sun"] } });
  expect(await move("refused:", ["--finish"])).toMatchObject({ code: 0 });
  expect(await stateIn(two.other, "refused:a")).toBe("active");
});

test("carillon move needs a confirmation, both names, and a token of the other installation", async () => {
  const named = ["move", "--prefix", "acme:", "--to", two.other.url];
  expect(await two.old.carillon(named, { env })).toMatchObject({
    code: 1,
    err: expect.stringContaining("--yes"),
  });
  expect(await two.old.carillon(named)).toMatchObject({
    code: 2,
    err: expect.stringContaining("CARILLON_TO_TOKEN"),
  });
  expect(await two.old.carillon(["move", "--prefix", "acme:"], { env })).toMatchObject({ code: 2 });
  expect(await two.old.carillon([...named, "--undo", "--finish"], { env })).toMatchObject({ code: 2 });
  expect(await two.old.carillon([...named, "--wait", "soon", "--yes"], { env })).toMatchObject({ code: 2 });
});

test("An undo without a move names both installations, and exits with 4", async () => {
  expect(await move("never:", ["--undo"])).toMatchObject({
    code: 4,
    err: `${two.old.url} has no move of "never:" to ${two.other.url}.\n`,
  });
});

test("A move to the installation itself is refused", async () => {
  const { code, err } = await two.old.carillon(["move", "--prefix", "self:", "--to", two.old.url, "--yes"], {
    env,
  });
  expect({ code, err }).toMatchObject({
    code: 5,
    err: expect.stringContaining("begins in this installation"),
  });
});

test("A command for a schedule that has moved names its installation, and no command that looks for it here", async () => {
  await putAll("gone:");
  expect((await move("gone:")).code).toBe(0);
  const { code, err } = await two.old.carillon(["get", "gone:a"]);
  expect({ code, lines: err.trimEnd().split("\n") }).toEqual({
    code: 4,
    lines: [
      expect.stringMatching(
        new RegExp(`is at ${two.other.url} since .* Send the request there\\. \\(404\\)$`),
      ),
    ],
  });
  const asJson = await two.old.carillon(["get", "gone:a", "--json"]);
  expect(JSON.parse(asJson.err)).toMatchObject({ error: { status: 404, movedTo: two.other.url } });
});
