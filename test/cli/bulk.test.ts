import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;

beforeAll(async () => {
  cli = await ownCli();
});

afterAll(() => cli.stop());

const keys = ["crm:a", "crm:b", "shop:a"];

beforeEach(async () => {
  const operations = keys.flatMap((key) => [
    { put: { key, when: "every 1h", target: { queue: "demo" }, tags: key === "crm:a" ? ["vip"] : [] } },
    { resume: key },
  ]);
  await cli.api.send("POST", "/v1/schedules:batch", { body: { operations } });
});

const paused = async () => {
  const { out } = await cli.carillon(["ls", "--state", "paused", "--json"]);
  return out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line).key);
};

describe("commands for all schedules that match", () => {
  test("In a script a bulk command needs --yes; without it the number is shown and nothing is done", async () => {
    const asked = await cli.carillon(["pause", "--prefix", "crm:"]);
    expect(asked.code).toBe(1);
    expect(asked.err).toContain("Hold 2 schedules (prefix crm:)?");
    expect(asked.err).toContain("--yes");
    expect(await paused()).toEqual([]);
    const done = await cli.carillon(["pause", "--prefix", "crm:", "--reason", "migration", "--yes"]);
    expect(done).toMatchObject({ code: 0, out: "Held 2 schedules.\n" });
    expect(await paused()).toEqual(["crm:a", "crm:b"]);
    const { out } = await cli.carillon(["versions", "crm:a", "-n", "1"]);
    expect(out).toContain("held by admin");
    expect(out).toContain("migration");
  });

  test("On a terminal a bulk command shows the number and asks", async () => {
    const no = await cli.carillon(["rm", "--prefix", "crm:"], { answer: "n" });
    expect(no).toMatchObject({ code: 1, err: expect.stringContaining("Nothing was done.") });
    const yes = await cli.carillon(["delete", "--prefix", "crm:"], { answer: "y" });
    expect(yes).toMatchObject({ code: 0, out: "Deleted 2 schedules.\n" });
  });

  test("A dry run names the first schedules and their number, and changes nothing", async () => {
    const { code, out } = await cli.carillon(["pause", "--prefix", "crm:", "--dry-run"]);
    expect({ code, out }).toEqual({
      code: 0,
      out: "crm:a\ncrm:b\n2 schedules would be held, without an end.\n",
    });
    const json = await cli.carillon(["rm", "--prefix", "crm:", "--dry-run", "--json"]);
    expect(JSON.parse(json.out)).toMatchObject({ dryRun: true, count: 2, more: false });
    expect(await paused()).toEqual([]);
  });

  test("A dry run of a pause shows the end, the reason, and how many are held already", async () => {
    await cli.carillon(["pause", "crm:a"]);
    const args = ["pause", "--prefix", "crm:", "--until", "in 2h", "--reason", "moved", "--dry-run"];
    const { out } = await cli.carillon([...args, "--timezone", "UTC"]);
    expect(out).toMatch(
      /\n2 schedules would be held until 2026-03-02 1\d:\d\d:\d\d \(in 2h\): moved\.\n1 of them is held already\.\n$/,
    );
    await cli.carillon(["resume", "crm:a"]);
  });

  test("A dry run of a patch shows the next runs before and after", async () => {
    const args = ["patch", "--prefix", "crm:", "--with-tag", "vip", "--when", "every 2h"];
    const { out } = await cli.carillon([...args, "--dry-run"]);
    expect(out).toMatch(/^crm:a: .* → .*\n1 schedule would be changed\.\n$/);
    expect(await cli.carillon([...args, "--yes"])).toMatchObject({ code: 0, out: "Changed 1 schedule.\n" });
    expect((await cli.carillon(["get", "crm:a"])).out).toContain("every 2h");
  });

  test("A group or a tag alone is held as a whole; with another filter it selects schedules", async () => {
    const label = await cli.carillon(["pause", "--tag", "vip"]);
    expect(label.out).toContain("Held the tag vip");
    await cli.carillon(["resume", "--tag", "vip"]);
    const some = await cli.carillon(["pause", "--tag", "vip", "--prefix", "crm:", "--yes"]);
    expect(some.out).toBe("Held 1 schedule.\n");
    expect((await cli.carillon(["resume", "--prefix", "crm:", "--state", "paused", "--yes"])).out).toBe(
      "Released 1 schedule.\n",
    );
  });

  test("A key takes no filter, and no filter at all is refused", async () => {
    expect(await cli.carillon(["pause", "crm:a", "--prefix", "crm:"])).toMatchObject({ code: 2 });
    expect(await cli.carillon(["patch", "--when", "every 2h", "--yes"])).toMatchObject({ code: 2 });
    expect(await cli.carillon(["rm", "--yes"])).toMatchObject({ code: 2 });
    expect(await cli.carillon(["rm", "--all", "--prefix", "crm:", "--yes"])).toMatchObject({ code: 2 });
  });

  test("A refused schedule is named, and the exit code tells it", async () => {
    const args = ["patch", "--prefix", "crm:", "--when", "at 2020-01-01T00:00", "--yes"];
    const { code, err } = await cli.carillon(args);
    expect(code).toBe(1);
    expect(err).toContain("crm:a: ");
    expect(err).toContain("2 schedules could not be changed.");
  });
});

test("carillon restore of the settings in force says that there is nothing to restore", async () => {
  await cli.carillon(["put", "same", "--when", "every 1h", "--queue", "demo"]);
  await cli.carillon(["patch", "same", "--when", "every 2h"]);
  expect((await cli.carillon(["restore", "same", "1"])).out).toMatch(/^Restored same \(version 3\): /);
  const again = await cli.carillon(["restore", "same", "1"]);
  expect(again.out).toMatch(/^Nothing to restore in same \(version 3\): /);
});

test("carillon restore makes a deleted schedule again, and a dry run says so", async () => {
  await cli.carillon(["put", "lost", "--when", "every 1h", "--queue", "demo"]);
  await cli.carillon(["rm", "lost", "--yes"]);
  const tried = await cli.carillon(["restore", "lost", "1", "--dry-run"]);
  expect(tried.out).toMatch(/^Would make lost again: it is deleted\./);
  const { out, code } = await cli.carillon(["restore", "lost", "1"]);
  expect({ out, code }).toEqual({ out: expect.stringMatching(/^Made again lost \(version 1\): /), code: 0 });
  expect((await cli.carillon(["get", "lost"])).out).toContain("every hour");
});

test("carillon restore --dry-run shows the fields and the next runs, and changes nothing", async () => {
  await cli.carillon(["put", "r", "--when", "every 1h", "--queue", "demo"]);
  await cli.carillon(["patch", "r", "--when", "every 2h"]);
  const { out, code } = await cli.carillon(["restore", "r", "1", "--dry-run"]);
  expect(code).toBe(0);
  expect(out).toContain('when: "every 2h" → "every 1h"');
  expect(out).toContain("Would change r (version 2).");
  expect((await cli.carillon(["get", "r"])).out).toContain("every 2h");
});
