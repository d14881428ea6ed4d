import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { twoClis } from "./two-clis.ts";

const two = twoClis();
const env = { CARILLON_TO_TOKEN: "admin-token" };
const hourly = { when: "every 1h", target: { queue: "demo" } };
let folder = "";

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "carillon-plan-"));
  const schedules = ["acme:a", "acme:b", "beta:a"].map((key) => ({ key, ...hourly }));
  writeFileSync(path.join(folder, "all.json"), JSON.stringify(schedules));
  const made = await two.old.carillon(["put", "acme:a", "--when", "every 1h", "--queue", "demo"]);
  expect(made).toMatchObject({ code: 0 });
  const args = ["--prefix", "acme:", "--to", two.other.url, "--wait", "0s", "--finish", "--yes"];
  expect(await two.old.carillon(["move", ...args], { env })).toMatchObject({ code: 0 });
});

afterAll(() => rmSync(folder, { recursive: true }));

const apply = (...more: string[]) => two.old.carillon(["apply", folder, "--name", "set", ...more]);

test("Apply and its dry run refuse schedules that have moved to another installation, and name it", async () => {
  for (const how of ["--dry-run", "--yes"]) {
    const { code, out, err } = await apply(how);
    expect(code).toBe(5);
    expect(out).toContain("3 schedules: 1 to create, 2 impossible.\n");
    expect(out).toContain(`The schedule acme:a is at ${two.other.url} since `);
    expect(out).toContain(`The schedules of "acme:" have moved to ${two.other.url} since `);
    expect(err).toContain(`Nothing was done: 2 of 3 schedules are impossible (acme:a: `);
  }
  expect(await two.old.carillon(["get", "beta:a"])).toMatchObject({ code: 4 });
  const { out } = await apply("--dry-run", "--json");
  const movedTo = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).movedTo);
  expect(movedTo).toEqual([two.other.url, two.other.url, null]);
});

test("A dry run of a put that a moved prefix would refuse ends as the put does", async () => {
  for (const key of ["acme:a", "acme:b"]) {
    const put = ["put", key, "--when", "every 1h", "--queue", "demo"];
    expect(await two.old.carillon(put)).toMatchObject({
      code: 5,
      err: expect.stringContaining(two.other.url),
    });
    expect(await two.old.carillon([...put, "--dry-run"])).toMatchObject({
      code: 5,
      err: expect.stringMatching(new RegExp(`It would be refused: .* ${two.other.url} since .*\\w\\.\\n`)),
    });
  }
});
