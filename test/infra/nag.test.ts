import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { type Checked, checked, reasonsTable } from "./nag-findings.ts";
import { tableIn } from "./rights.ts";

const page = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");

let all: Checked;
beforeAll(() => {
  all = checked();
});

test("with every set of settings, AWS Solutions has no finding without a reason", () => {
  expect(all.open).toEqual([]);
  // Shows that the checks ran at all.
  expect(all.found.length).toBeGreaterThan(50);
});

test("every reason for not following AWS Solutions belongs to a finding, and is a sentence", () => {
  const idle = all.reasons.filter(
    ({ rule, path }) =>
      !all.found.some((each) => each.rule === rule && `${each.path}/`.startsWith(`${path}/`)),
  );
  expect(idle).toEqual([]);
  for (const { reason } of all.reasons) expect(reason).toMatch(/^[A-Za-z].{40,}\.$/);
});

test("docs/security.md lists all reasons; `npm run rights` writes them", () => {
  expect(tableIn(page, "reasons")).toBe(reasonsTable(all.reasons));
});
