import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildPrograms } from "../../infra/tools/package/published/carillon.ts";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;
let folder: string;

beforeAll(async () => {
  cli = await ownCli();
});

afterAll(() => cli.stop());

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "carillon-apply-"));
  const keys = (await cli.carillon(["ls", "--all", "--json"])).out.matchAll(/"key":"([^"]+)"/g);
  for (const [, key = ""] of keys) await cli.carillon(["rm", key]);
});

afterEach(() => rmSync(folder, { recursive: true }));

/** Writes each schedule into its own file; null deletes the file. */
function files(bodies: Record<string, object | null>): void {
  for (const [name, body] of Object.entries(bodies)) {
    const at = path.join(folder, `${name}.json`);
    if (body === null) rmSync(at);
    else writeFileSync(at, JSON.stringify(body));
  }
}

const hourly = { when: "every 1h", target: { queue: "a" } };
const apply = (...more: string[]) => cli.carillon(["apply", folder, "--name", "set", "--yes", ...more]);
const get = async (key: string) => JSON.parse((await cli.carillon(["get", key, "--json"])).out);
const isThere = async (key: string) => (await cli.carillon(["get", key])).code === 0;

describe("carillon apply", () => {
  test("Applying a directory from a separate process creates and changes its schedules, and a second run changes nothing", async () => {
    files({ one: hourly, two: { ...hourly, tags: ["mine"], retry: { attempts: 2 } } });
    const first = await cli.spawned(["apply", folder, "--name", "set", "--yes"]);
    expect(first).toMatchObject({
      code: 0,
      out: expect.stringContaining("Created 2, changed 0, removed 0.\n"),
    });
    expect(await get("two")).toMatchObject({ tags: ["mine", "apply:set"], retry: { attempts: 2 } });
    const versions = [(await get("one")).version, (await get("two")).version];
    expect(await apply("--prune")).toMatchObject({
      code: 0,
      out: "2 schedules: 2 unchanged.\nNothing to do.\n",
    });
    // Fields that are left out fall back to their defaults.
    files({ two: hourly });
    const { out } = await apply();
    expect(out).toContain('    tags: ["mine","apply:set"] → ["apply:set"]\n');
    expect(out).toMatch(/ {4}retry: \{.*"attempts":2.*\} → \{.*"attempts":5/);
    expect((await get("one")).version).toBe(versions[0]);
    expect((await get("two")).version).toBeGreaterThan(versions[1]);
  });

  test("Apply removes schedules of the set only with --prune", async () => {
    files({ one: hourly, two: hourly });
    await apply();
    await cli.carillon(["put", "other", "--when", "every 1h", "--queue", "a"]);
    files({ two: null });
    expect((await apply()).out).toBe("1 schedule: 1 unchanged.\nNothing to do.\n");
    expect((await apply("--prune")).out).toContain("- remove two\n");
    expect([await isThere("one"), await isThere("two"), await isThere("other")]).toEqual([true, false, true]);
  });

  test("Apply neither removes nor changes a schedule that has lost the set's tag", async () => {
    files({ one: hourly, two: hourly });
    await apply();
    await cli.carillon(["patch", "two", "--tag", "kept"]);
    files({ two: null });
    await apply("--prune");
    expect(await isThere("two")).toBe(true);
    files({ two: hourly });
    expect(await apply()).toMatchObject({ code: 1, out: expect.stringContaining("--adopt takes it over") });
  });

  test("Apply names the stack to which an existing schedule belongs, and changes it only with --adopt", async () => {
    const owned = ["--tag", "stack:Shop", "--tag", "stack:Shop:Weekly"];
    await cli.carillon(["put", "one", "--when", "every 2h", "--queue", "a", ...owned]);
    files({ one: hourly });
    const why = "it exists and belongs to stack:Shop:Weekly: --adopt takes it over";
    expect(await apply()).toMatchObject({ code: 1, out: expect.stringContaining(why) });
    expect((await apply("--adopt")).code).toBe(0);
    expect(await get("one")).toMatchObject({ tags: ["apply:set"] });
  });

  test("Apply changes schedules without the set's tag only with --adopt", async () => {
    await cli.carillon(["put", "one", "--when", "every 2h", "--queue", "a"]);
    files({ one: hourly, two: hourly });
    expect(await apply()).toMatchObject({
      code: 1,
      err: expect.stringContaining("1 of 2 schedules are impossible"),
    });
    expect([(await get("one")).when, await isThere("two")]).toEqual(["every 2h", false]);
    expect(await apply("--adopt")).toMatchObject({ code: 0 });
    expect(await get("one")).toMatchObject({ when: "every 1h", tags: ["apply:set"] });
  });

  test("Apply does not change the pauses of existing schedules", async () => {
    files({ one: hourly, two: { ...hourly, paused: true } });
    await apply();
    expect((await get("two")).state).toBe("paused");
    await cli.carillon(["pause", "one"]);
    await cli.carillon(["resume", "two"]);
    files({
      one: { ...hourly, when: "every 2h", paused: false },
      two: { ...hourly, when: "every 2h", paused: true },
    });
    expect((await apply()).out).toContain("changed 2");
    expect([(await get("one")).state, (await get("two")).state]).toEqual(["paused", "active"]);
  });

  test("With --exit-code, a dry run only reports that something would change", async () => {
    files({ one: hourly });
    const tried = (...more: string[]) => apply("--dry-run", "--exit-code", ...more);
    expect(await tried()).toMatchObject({ code: 10, err: "" });
    expect(await isThere("one")).toBe(false);
    await apply();
    expect(await tried()).toMatchObject({ code: 0 });
    files({ one: null });
    expect(await tried("--prune", "--allow-empty")).toMatchObject({ code: 10 });
    expect(await apply("--exit-code")).toMatchObject({ code: 2 });
  });

  test("Apply is refused as a whole, before any change, where the server refuses one schedule", async () => {
    files({ one: hourly, two: { when: "every 1h", target: { handler: "no-such-handler" } } });
    expect(await apply()).toMatchObject({ code: 1, out: expect.stringContaining("target.handler is not") });
    expect(await isThere("one")).toBe(false);
  });

  test("Apply refuses a relative time", async () => {
    files({ one: { ...hourly, when: "in 3h" } });
    expect(await apply()).toMatchObject({ code: 1, out: expect.stringContaining("is relative to now") });
  });

  test("Apply sends credentials again, because they cannot be compared, and only passwords and short ones make a version each time", async () => {
    const secret = `whsec_${Buffer.from("a".repeat(24)).toString("base64")}`;
    const webhook = {
      url: "https://example.com/hook",
      secret,
      headers: { authorization: `Bearer hunter${"2".repeat(20)}` },
    };
    files({ one: { when: "every 1h", target: { webhook } } });
    await apply();
    const again = await apply();
    expect(again.out).toContain("credentials cannot be compared");
    expect(again.out).toContain("Created 0, changed 0, removed 0.");
    expect((await get("one")).version).toBe(1);
    const other = { ...webhook, headers: { authorization: "Basic aHVudGVyMw==" } };
    files({ one: { when: "every 1h", target: { webhook: other } } });
    const changed = await apply();
    expect(changed.out).toContain("changed 1");
    // A password has no hash by which the same one is recognized: it could be guessed from it.
    expect((await apply()).out).toContain("changed 1");
    expect(changed.out + again.out).not.toMatch(/hunter|whsec/);
  });
});

describe("an edit by another caller during an apply", () => {
  /** Applies two changes, and edits one of the schedules while the confirmation is pending. */
  const raced = async (...more: string[]) => {
    files({ one: hourly, two: hourly });
    await apply();
    files({ one: { ...hourly, when: "every 2h" }, two: { ...hourly, when: "every 2h" } });
    return cli.carillon(["apply", folder, "--name", "set", ...more], {
      answered: async () => {
        await cli.carillon(["patch", "one", "--when", "every 9h"]);
        return "y";
      },
    });
  };

  test("Apply keeps the other caller's edit, applies the rest, and reports the conflict", async () => {
    expect(await raced()).toMatchObject({
      code: 5,
      err: expect.stringContaining("The schedule one is at version 2."),
      out: expect.stringContaining("changed 1"),
    });
    expect([(await get("one")).when, (await get("two")).when]).toEqual(["every 9h", "every 2h"]);
  });

  test("An atomic apply undoes everything where another caller has edited, and reports the conflict", async () => {
    expect(await raced("--atomic")).toMatchObject({
      code: 5,
      err: expect.stringContaining("another caller has changed one since"),
    });
    expect([(await get("one")).when, (await get("two")).when]).toEqual(["every 9h", "every 1h"]);
  });
});

describe("the name of a set", () => {
  test("The name of a set is the directory's, unless another directory has the same name", async () => {
    const named = (...more: string[]) => cli.carillon(["apply", folder, "--yes", ...more]);
    files({ one: hourly });
    await named();
    expect((await get("one")).tags).toEqual([`apply:${path.basename(folder)}`]);
    files({ one: null, two: hourly });
    expect(await named("--prune")).toMatchObject({
      code: 1,
      err: expect.stringContaining("may belong to another directory"),
    });
    expect(await named()).toMatchObject({ code: 1 });
    expect([await isThere("one"), await isThere("two")]).toEqual([true, false]);
    expect(await named("--prune", "--name", path.basename(folder))).toMatchObject({ code: 0 });
    expect([await isThere("one"), await isThere("two")]).toEqual([false, true]);
  });

  test("A name that is not a valid tag is refused", async () => {
    files({ one: hourly });
    expect(await cli.carillon(["apply", folder, "--name", "a/b"])).toMatchObject({ code: 2 });
  });

  test("An empty directory does not remove the whole set without --allow-empty", async () => {
    files({ one: hourly });
    await apply();
    files({ one: null });
    expect(await apply("--prune")).toMatchObject({ code: 1, err: expect.stringContaining("--allow-empty") });
    expect(await isThere("one")).toBe(true);
    expect(await apply("--prune", "--allow-empty")).toMatchObject({ code: 0 });
    expect(await isThere("one")).toBe(false);
  });
});

test("The built CLI reads files like its source", async () => {
  const built = mkdtempSync(path.join(tmpdir(), "carillon-built-"));
  await buildPrograms(built);
  // Node needs this to load it as a module; the package's own package.json has the same.
  writeFileSync(path.join(built, "package.json"), '{"type":"module"}');
  writeFileSync(path.join(folder, "one.yaml"), "when: 0 9 * * *\ntarget: { queue: a }\n");
  const args = ["apply", folder, "--name", "built", "--yes"];
  const program = path.join(built, "cli.js");
  expect(await cli.spawned(args, { program })).toMatchObject({
    code: 0,
    out: expect.stringContaining("Created 1"),
  });
  rmSync(built, { recursive: true });
});

test("A token with a prefix applies schedules that it reaches, and the others are reported", async () => {
  const token = (
    await cli.carillon(["token", "create", "team", "--scope", "write", "--prefix", "team:"])
  ).out.trim();
  const env = { CARILLON_TOKEN: token };
  files({ one: { ...hourly, key: "team:one" } });
  const args = ["apply", folder, "--name", "team", "--prune", "--yes"];
  expect(await cli.carillon(args, { env })).toMatchObject({ code: 0 });
  files({ two: { ...hourly, key: "others:two" } });
  expect(await cli.carillon(args, { env })).toMatchObject({
    code: 1,
    out: expect.stringContaining("does not reach"),
  });
});
