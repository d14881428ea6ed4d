import { expect, test } from "vitest";
import { Confirmations, confirmWithinMs, previewsMax } from "../../lib/mcp/confirmations.ts";

const told = { lines: [], data: {} };
const preview = { tool: "hold", given: { key: "a" }, act: async () => told };

test("A token is good until ten minutes after its preview, to the millisecond", () => {
  let now = 0;
  const confirmations = new Confirmations(() => now);
  const [{ confirm, expiresAt }, other] = [confirmations.issue(preview), confirmations.issue(preview)];
  expect(Date.parse(expiresAt)).toBe(confirmWithinMs);
  now = confirmWithinMs;
  expect(confirmations.take(confirm, "hold", { key: "a" })).toMatchObject({ tool: "hold" });
  now += 1;
  expect(() => confirmations.take(other.confirm, "hold", { key: "a" })).toThrow(/expired at 1970/);
});

test("The order of the arguments does not matter to a token, and an added argument does", () => {
  const confirmations = new Confirmations(() => 0);
  const { confirm } = confirmations.issue({ ...preview, given: { key: "a", patch: { x: 1, y: [1, 2] } } });
  for (const given of [
    { key: "a", patch: { x: 1, y: [2, 1] } },
    { key: "a", patch: { x: 1, y: [1, 2] }, more: 1 },
  ])
    expect(() => confirmations.take(confirm, "hold", given)).toThrow(/other arguments/);
  expect(confirmations.take(confirm, "hold", { patch: { y: [1, 2], x: 1 }, key: "a" }).tool).toBe("hold");
});

test("The oldest of more than fifty previews is forgotten", () => {
  const confirmations = new Confirmations(() => 0);
  const tokens = Array.from({ length: previewsMax + 1 }, () => confirmations.issue(preview).confirm);
  expect(() => confirmations.take(tokens[0] ?? "", "hold", { key: "a" })).toThrow(
    /later previews have displaced it/,
  );
  expect(confirmations.take(tokens[1] ?? "", "hold", { key: "a" }).tool).toBe("hold");
});

test("A token that is given back can be used again", () => {
  const confirmations = new Confirmations(() => 0);
  const { confirm } = confirmations.issue(preview);
  confirmations.take(confirm, "hold", { key: "a" });
  expect(() => confirmations.take(confirm, "hold", { key: "a" })).toThrow(/used already/);
  confirmations.giveBack(confirm);
  expect(confirmations.take(confirm, "hold", { key: "a" }).tool).toBe("hold");
});
