import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;

beforeAll(async () => {
  cli = await ownCli();
});

afterAll(() => cli.stop());

const hourly = ["--when", "every 1h", "--queue", "demo"];
const tried = (args: readonly string[], input = "") => cli.carillon(["put", ...args, "--dry-run"], { input });
const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;

const hooked = (key: string, token: string, signedBy: string) =>
  JSON.stringify({
    key,
    when: "every 1h",
    target: {
      webhook: { url: "https://example.com/", headers: { Authorization: token }, secret: signedBy },
    },
  });

describe("a dry run of put", () => {
  test("A dry run prints no credential, on the terminal or as JSON", async () => {
    await cli.carillon(["put", "-f", "-"], { input: hooked("hook:1", "Bearer one", secret) });
    for (const more of [[], ["--json"]]) {
      const same = await tried(["-f", "-", ...more], hooked("hook:1", "Bearer two", other));
      const added = await tried(["-f", "-", ...more], hooked("hook:2", "Bearer two", other));
      for (const { code, out, err } of [same, added]) {
        expect(code).toBe(0);
        expect(out + err).not.toContain("Bearer");
        expect(out + err).not.toContain("whsec_");
      }
    }
    const { out } = await tried(["-f", "-"], hooked("hook:1", "Bearer two", other));
    expect(out).toMatch(
      /^Would write the credentials of hook:1: .*\n {2}target: the credentials are written;/,
    );
    expect((await tried(["-f", "-"], hooked("hook:1", "***", "***"))).out).toMatch(/^Would not change/);
    await cli.carillon(["put", "hook:3", ...hourly]);
    const moved = await tried(["-f", "-"], hooked("hook:3", "Bearer two", other));
    expect(moved.out).toMatch(/\n {2}target: \{"queue":"demo"\} → .*"\*\*\*".*"\*\*\*"/);
    expect(moved.out).not.toMatch(/Bearer|whsec_/);
  });

  test("A dry run shows fields that fall back to their defaults", async () => {
    const more = ["--tag", "x", "--payload", "[1]", "--attempts", "9", "--timezone", "Europe/Berlin"];
    await cli.carillon(["put", "less:1", ...hourly, ...more]);
    const { out } = await tried(["less:1", ...hourly, "--json"]);
    const { changes } = JSON.parse(out);
    expect(changes.map(({ path }: { path: string }) => path).sort()).toEqual([
      "payload",
      "retry",
      "tags",
      "timezone",
    ]);
    expect((await tried(["less:1", ...hourly])).out).toMatch(
      /^Would change less:1: .*\n {2}timezone: .*\n {2}payload: \[1\] → null\n {2}tags: \["x"\] → \[\]\n/,
    );
    expect((await tried(["less:1", ...hourly, ...more])).out).toMatch(/^Would not change less:1:/);
  });

  test("A dry run is refused where the put would be", async () => {
    await cli.carillon(["put", "if:1", ...hourly]);
    for (const [args, code, why] of [
      [["if:1", ...hourly, "--if-match", "2"], 5, "the schedule if:1 is at version 1 (412)"],
      [["if:1", ...hourly, "--create"], 5, "the schedule if:1 exists already (412)"],
      [
        ["if:2", ...hourly, "--if-match", "1"],
        5,
        "the schedule if:2 does not exist, so its version cannot match (412)",
      ],
      [["if:2", "--when", "every 1h"], 1, "target"],
    ] as const) {
      const real = await cli.carillon(["put", ...args]);
      expect(await tried(args)).toMatchObject({ code, out: "", err: expect.stringContaining(why) });
      expect(real.code).toBe(code);
    }
    expect((await tried(["if:1", ...hourly, "--if-match", "1"])).code).toBe(0);
  });

  test("A dry run shows that a relative time starts again", async () => {
    const later = ["rel:1", "--when", "in 3h", "--queue", "demo"];
    await cli.carillon(["put", ...later]);
    expect((await tried(later)).out).toMatch(
      /^Would change rel:1: .*\n {2}when: its time starts again from now\n/,
    );
    expect(JSON.parse((await tried([...later, "--json"])).out)).toMatchObject({
      changes: [],
      countsAnew: true,
    });
  });

  test("A dry run shows the hold that it would set", async () => {
    await cli.carillon(["put", "hold:1", ...hourly]);
    expect((await tried(["hold:1", ...hourly, "--paused"])).out).toMatch(
      /^Would change hold:1: .*\n {2}paused: it gets a hold of your own\n/,
    );
    expect((await tried(["hold:2", ...hourly, "--paused"])).out).toMatch(
      /^Would create hold:2: .*\n {2}paused: it gets a hold of your own\n/,
    );
  });

  test("A dry run shows the current occurrences where times do not change", async () => {
    await cli.carillon(["put", "phase:1", ...hourly]);
    const { out: lines } = await cli.carillon(["next", "phase:1", "-n", "5", "--json"]);
    const next = lines
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).at);
    const { out } = await tried(["phase:1", ...hourly, "--tag", "y", "--json"]);
    expect(JSON.parse(out).occurrences).toEqual(next);
  });
});
