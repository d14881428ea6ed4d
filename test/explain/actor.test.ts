import { expect, test } from "vitest";
import { actorText, editText } from "../../lib/explain/actor.ts";

test.each([
  ["first", "token `first`"],
  ["carillon", "the tick"],
  ["carillon:canary", "Carillon's canary"],
  ["queue:ingest", "the ingest queue"],
  ["handler:order-unshipped", "handler `order-unshipped`"],
  ["sql:app_writer", "SQL role `app_writer`"],
  ["jwt:0oa1b2", "gateway caller `0oa1b2` (JWT)"],
  ["iam:123456789012:role:billing", "IAM role `billing` of account 123456789012"],
  ["stack:Shop", "stack `Shop`"],
  ["team:first", "token `team:first`"],
])("The actor %s of the audit is explained as what it is: %s", (name, text) => {
  expect(actorText(name)).toBe(text);
});

test.each([
  ["replaced", "edited"],
  ["patched", "edited"],
  ["restored", "restored"],
  ["replanned", "replanned"],
] as const)("A version that was %s is explained as %s, with its author and number", (change, did) => {
  expect(editText({ change, by: "first", version: 2 })).toBe(`${did} by token \`first\` (version 2)`);
});
