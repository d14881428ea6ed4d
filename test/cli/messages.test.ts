import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "carillon-told-"));
  cli = await ownCli();
});

afterAll(async () => {
  await cli.stop();
  rmSync(folder, { recursive: true });
});

const put = (key: string, ...more: string[]) =>
  cli.carillon(["put", key, "--when", "every 1h", "--queue", "demo", ...more]);

describe("impossible keys", () => {
  test.each(["", ".", "..", "a/pause", "../tokens"])(
    "An impossible key is refused before anything is sent: %j",
    async (key) => {
      for (const args of [
        ["get", key],
        ["put", key, "--when", "every 1h", "--queue", "q"],
        ["pause", key],
      ])
        expect(await cli.carillon(args)).toMatchObject({
          code: 2,
          out: "",
          err: expect.stringMatching(/^The key (takes|may not)/),
        });
    },
  );
});

describe("commands with several items", () => {
  test("A missing item does not stop the others, and is reported at the end", async () => {
    for (const key of ["s:1", "s:3"]) await put(key);
    expect(await cli.carillon(["rm", "s:1", "s:2", "a/b", "s:3"])).toEqual({
      code: 4,
      out: "Deleted s:1.\nDeleted s:3.\n",
      err: expect.stringMatching(/^s:2: There is no schedule.*\na\/b: .*\n2 of 4 failed\.\n$/),
    });
    await put("s:1");
    const { id } = JSON.parse((await cli.carillon(["fire", "s:1", "--json"])).out);
    const gone = id.replace(/^\d+/, "999");
    const ended = await cli.carillon(["cancel", gone, "nonsense", id, "--json"]);
    expect(ended.code).toBe(4);
    expect(JSON.parse(ended.out)).toMatchObject({ id, state: "cancelled" });
    const told = ended.err
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(told).toMatchObject([{ error: { of: gone } }, { error: { of: "nonsense" } }, { error: {} }]);
  });

  test("A command on an unknown token exits with the code for a missing item, not for a usage fault", async () => {
    for (const verb of ["get", "rotate", "rm"])
      expect(await cli.carillon(["token", verb, "nobody", "--yes"])).toMatchObject({ code: 4, out: "" });
  });

  test("A name that several tokens have is refused with their ids, and each is taken by its id", async () => {
    const ids: string[] = [];
    for (const prefix of ["a:", "b:"]) {
      const made = await cli.carillon(["token", "create", "shared", "--prefix", prefix, "--json"]);
      ids.push((JSON.parse(made.out) as { id: string }).id);
    }
    for (const verb of ["get", "rotate", "rm"]) {
      const { code, out, err } = await cli.carillon(["token", verb, "shared", "--yes"]);
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain('2 tokens have the name "shared". Give the id: ');
      for (const [index, id] of ids.entries()) expect(err).toContain(`${id} (${index === 0 ? "a:" : "b:"})`);
    }
    for (const id of ids) expect((await cli.carillon(["token", "rm", id, "--yes"])).code).toBe(0);
  });
});

describe("secrets", () => {
  test("A new token's secret is written into a file that only its owner can read", async () => {
    const file = path.join(folder, "ci.token");
    writeFileSync(file, "older", { mode: 0o644 });
    const made = await cli.carillon(["token", "create", "ci", "--out", file]);
    expect(made).toMatchObject({ code: 0, out: "", err: expect.stringMatching(/^Made ci /) });
    const secret = readFileSync(file, "utf8");
    expect(secret).toMatch(/^carillon_\S+\n$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await cli.carillon(["ls", "--token-file", file], { env: { CARILLON_TOKEN: "" } })).code).toBe(0);
    // A refused command keeps the old file.
    expect((await cli.carillon(["token", "create", "ci", "--out", file])).code).toBe(5);
    expect(readFileSync(file, "utf8")).toBe(secret);
    const rotated = await cli.carillon(["token", "rotate", "ci", "--out", file, "--json"]);
    expect(JSON.parse(rotated.out)).toMatchObject({ name: "ci", file });
    expect(rotated.out).not.toContain("carillon_");
    expect(readFileSync(file, "utf8")).not.toBe(secret);
    expect(readdirSync(folder)).toEqual(["ci.token"]);
  });

  test("A token is not made if its secret cannot be written", async () => {
    const nowhere = path.join(folder, "none", "x.token");
    expect(await cli.carillon(["token", "create", "lost", "--out", nowhere])).toMatchObject({ code: 2 });
    expect((await cli.carillon(["token", "get", "lost"])).code).toBe(4);
  });
});

describe("putting back a schedule", () => {
  const more = ["--tag", "x", "--payload", "[1]", "--attempts", "9", "--group", "g", "--deadline", "1h"];

  test.each([["--body"], ["--json"]])(
    "A schedule read with %s can be put back without a change",
    async (how) => {
      await put("back:1", ...more, "--description", how.slice(2));
      const { version } = JSON.parse((await cli.carillon(["get", "back:1", "--json"])).out);
      const read = await cli.carillon(["get", "back:1", how]);
      const again = await cli.carillon(["put", "-f", "-", "--json"], { input: read.out });
      expect(again.code).toBe(0);
      expect(JSON.parse(again.out)).toMatchObject({ key: "back:1", version });
      if (how === "--body") expect(again.err).toBe("");
      else expect(again.err).toMatch(/^Left out read-only fields: id, state, version, /);
    },
  );

  test("A schedule that is put back keeps its credentials", async () => {
    const target = {
      webhook: { url: "https://example.com/", headers: { Authorization: "Bearer one" } },
    };
    const parts = { input: JSON.stringify({ when: "every 1h", target }) };
    await cli.carillon(["put", "back:2", "-f", "-"], parts);
    const { out } = await cli.carillon(["get", "back:2", "--body"]);
    expect(JSON.parse(out)).toMatchObject({ target: { webhook: { headers: { Authorization: "***" } } } });
    const again = await cli.carillon(["put", "-f", "-", "--json"], { input: out });
    expect(JSON.parse(again.out)).toMatchObject({ version: 1 });
  });
});

describe("stats", () => {
  test("carillon stats shows pulses if there are any: a row for the hour and one for the day", async () => {
    expect((await cli.carillon(["stats"])).out).not.toMatch(/PULSES/);
    await cli.api.sql`
      insert into carillon.tallies (at, pulses, pulses_lost, pulse_buckets, pulse_counts) values
        (carillon.clock(), 2500, 3, array[carillon.lateness_bucket('40 ms')], array[2500]),
        (carillon.clock() - interval '3 hours', 1000, null, array[carillon.lateness_bucket('5 s')], array[1000])`;
    const { out } = await cli.carillon(["stats"]);
    expect(out).toMatch(/\n\nPULSES OF LAST +TAKEN +LOST +LATE p50 +LATE p95 +LATE p99\n/);
    expect(out).toMatch(/\nhour +2,500 +3 +(3|4)\d ms +(3|4)\d ms +(3|4)\d ms\n/);
    expect(out).toMatch(/\nday +3,500 +3 +(3|4)\d ms +(4|5)\.\d s +(4|5)\.\d s\n$/);
  });

  test("carillon stats shows pulses even if all were lost", async () => {
    await cli.api.sql`delete from carillon.tallies`;
    await cli.api.sql`delete from carillon.minutes`;
    await cli.api.sql`delete from carillon.minute_pulse_lateness`;
    await cli.api.sql`insert into carillon.tallies (at, pulses, pulses_lost) values (carillon.clock(), 0, 7)`;
    const { out } = await cli.carillon(["stats"]);
    expect(out).toMatch(/\nhour +0 +7 +- +- +-\nday +0 +7 +- +- +-\n$/);
    await cli.api.sql`delete from carillon.tallies`;
  });
});

describe("messages", () => {
  test("A wait that the server requests is reported", async () => {
    let asked = 0;
    const server = createServer((_request, response) => {
      asked += 1;
      const problem = { type: "t", title: "T", status: 429, detail: "Too many.", errors: [] };
      if (asked === 1) response.writeHead(429, { "retry-after": "1" }).end(JSON.stringify(problem));
      else response.end('{"count":0,"more":false}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const ended = await cli.carillon(["ls", "--count", "--url", `http://127.0.0.1:${port}`]);
    expect(ended).toEqual({ code: 0, out: "0\n", err: "The API asked to wait (429): retrying in 1 s.\n" });
    await new Promise((resolve) => server.close(resolve));
  });

  test("A missing local stack is reported", async () => {
    const { err } = await cli.carillon(["ls", "--url", "http://127.0.0.1:9"]);
    expect(err).toMatch(
      /does not answer.*\nIs `npm start` running\? CARILLON_URL, --url or CARILLON_DATA_DIR name another one\.\n$/,
    );
  });

  test("The CLI finds a local stack by its data directory alone, unless a port is given", async () => {
    writeFileSync(path.join(folder, "url"), `${cli.url}\n`);
    const env = { CARILLON_URL: "", CARILLON_DATA_DIR: folder };
    expect(await cli.carillon(["ls", "--count"], { env })).toMatchObject({ code: 0, err: "" });
    const other = await cli.carillon(["ls", "--count"], { env: { ...env, CARILLON_PORT: "9" } });
    expect(other.err).toMatch(/^http:\/\/127\.0\.0\.1:9\/\S+ does not answer/);
  });

  test("An enqueued job is reported as due now or as waiting", async () => {
    await put("due:1");
    expect((await cli.carillon(["fire", "due:1"])).out).toMatch(/^It is due now\.\n/);
    const enqueue = ["enqueue", "--queue", "q"];
    expect((await cli.carillon(enqueue)).out).toMatch(/^It is due now\.\n/);
    expect((await cli.carillon([...enqueue, "--at", "in 1h"])).out).toMatch(/^It waits for its time\.\n/);
  });

  test("A fault of a file is reported without quoting it", async () => {
    const broken = { input: '{\n"when": "every 1h"\n"secret": "whsec_abc" }' };
    const { code, err } = await cli.carillon(["put", "x", "-f", "-"], broken);
    expect(code).toBe(2);
    expect(err).toMatch(/^--file takes a JSON object; stdin is not JSON \(line 3\)\.\n/);
    const unquoted = await cli.carillon(["put", "x", "-f", "-"], { input: '{ "secret": whsec_abc }' });
    expect(unquoted).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^--file takes a JSON object; stdin is not JSON\.\n/),
    });
    expect(err + unquoted.err).not.toContain("whsec");
    expect((await put("x", "--tag", "")).err).toContain("tags[0] takes 1 to 100 characters, has 0");
    const large = { input: JSON.stringify("x".repeat(250_000)) };
    const args = ["put", "x", "--when", "every 1h", "--queue", "q", "--payload", "-"];
    expect((await cli.carillon(args, large)).err).toContain(
      "payload takes at most 245760 bytes as JSON, has 250002",
    );
  });
});

test("Times are shown in the schedule's zone and in the requested zone", async () => {
  await put("zone:1", "--timezone", "Asia/Tokyo");
  await put("zone:2");
  const title = async (...args: string[]) =>
    (await cli.carillon(["next", ...args])).out.split("\n")[0]?.trimEnd().split(/ {2,}/);
  expect(await title("zone:1")).toEqual(["Asia/Tokyo", "UTC"]);
  expect(await title("zone:1", "--timezone", "Europe/Berlin")).toEqual([
    "Asia/Tokyo",
    "Europe/Berlin",
    "UTC",
  ]);
  expect(await title("zone:1", "--timezone", "Asia/Tokyo")).toEqual(["Asia/Tokyo", "UTC"]);
  expect(await title("zone:2")).toEqual(["UTC"]);
});
