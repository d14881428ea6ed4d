import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { allKeys } from "../../lib/schedule/shape/caller.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { credentialsOf, type Webhook } from "../../lib/schedule/shape/webhook-credentials.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { openedWebhook } from "./opened-webhook.ts";

let world: Carillon;
beforeEach(async () => {
  world = await carillon();
});
afterEach(() => world.stop());

const secretOf = (n: number) => `whsec_${Buffer.alloc(32, n).toString("base64")}`;
const headersOf = (n: number) => ({
  authorization: `Basic ${n}`,
  "x-token": `${n}-0123456789-0123456789-0123`,
});

/** Applies the operations, and returns how many credentials were sealed in their transaction. */
async function sealedInside(operations: readonly Operation[]): Promise<number> {
  const imported = vi.spyOn(crypto.subtle, "importKey");
  // Each sealing imports the public key.
  const sealed = () => imported.mock.calls.filter(([format]) => format === "spki").length;
  let atFirst = 0;
  let inside = Number.NaN;
  try {
    const applied = await applyOperations(world, operations, {
      before: async () => {
        atFirst = sealed();
        return new Set();
      },
      after: async () => {
        inside = sealed() - atFirst;
      },
    });
    expect(applied.map(({ change }) => change)).not.toContain("refused");
    expect(atFirst).toBeGreaterThan(0);
    return inside;
  } finally {
    imported.mockRestore();
  }
}

const caller = { name: "ann", reach: allKeys };
const keys = ["a", "b", "c"];

const stored = () => world.sql<{ webhook: Webhook }[]>`
  select v.target->'webhook' as webhook from carillon.schedules s
  join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.version order by s.key`;

const storedTexts = async () =>
  (await stored()).flatMap(({ webhook }) => credentialsOf(webhook).map(({ value }) => value));

test("Credentials of a batch are sealed before its transaction, also those that have no hash and those of patches", async () => {
  const puts = keys.map((key, n): Operation => {
    const webhook = { url: `https://example.com/?sig=${n}`, headers: headersOf(n), secret: secretOf(n) };
    return { kind: "put", key, caller, body: parseScheduleBody({ when: "every 1h", target: { webhook } }) };
  });
  expect(await sealedInside(puts)).toBe(0);
  const patches = keys.map((key, n): Operation => {
    const patch = { target: { webhook: { headers: headersOf(n + 10), secret: secretOf(n + 10) } } };
    return { kind: "patch", key, caller, patch };
  });
  expect(await sealedInside(patches)).toBe(0);
  const opened = await Promise.all((await stored()).map(({ webhook }) => openedWebhook(world.sql, webhook)));
  expect(opened).toMatchObject(
    keys.map((_, n) => ({
      url: `https://example.com/?sig=${n}`,
      headers: headersOf(n + 10),
      secret: [secretOf(n + 10)],
    })),
  );
});

test("Equal values without a hash have no equal texts, although they were sealed ahead", async () => {
  const target = { webhook: { url: "https://example.com/", headers: { authorization: "Basic equal" } } };
  const body = parseScheduleBody({ when: "every 1h", target });
  expect(await sealedInside(keys.map((key): Operation => ({ kind: "put", key, caller, body })))).toBe(0);
  const texts = await storedTexts();
  expect(new Set(texts).size).toBe(keys.length);
  // Each text is used once, also by an edit outside of a batch.
  await world.put("a", { when: "every 1h", target });
  expect(texts).not.toContain((await storedTexts())[0]);
});
