import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { type Checked, checked, reasonsTable } from "./nag-findings.ts";
import { tableIn } from "./rights.ts";

const page = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");

let all: Checked;
beforeAll(() => {
  all = checked();
});

test("with every set of settings, AWS Solutions finds nothing that has no reason", () => {
  expect(all.open).toEqual([]);
  // It has looked at something.
  expect(all.found.length).toBeGreaterThan(50);
});

test("no reason is given for what nobody finds, and each is a sentence", () => {
  const idle = all.reasons.filter(
    ({ rule, path }) =>
      !all.found.some((each) => each.rule === rule && `${each.path}/`.startsWith(`${path}/`)),
  );
  expect(idle).toEqual([]);
  for (const { reason } of all.reasons) expect(reason).toMatch(/^[A-Za-z].{40,}\.$/);
});

test("docs/security.md tells all reasons; `npm run rights` writes them", () => {
  expect(tableIn(page, "reasons")).toBe(reasonsTable(all.reasons));
});
