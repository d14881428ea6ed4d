import { expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../lib/job/define-job.ts";
import { refuseUnfitPayload } from "../../lib/job/read-payload.ts";
import { Refusal } from "../../lib/refusal.ts";

const handlers = [
  defineJob({
    name: "converts",
    payload: z.strictObject({ text: z.string().transform((text): unknown => JSON.parse(text)) }),
    run: async () => {},
  }),
];

function faultsOf(payload: unknown, handler = "converts"): unknown {
  try {
    refuseUnfitPayload(handlers, { target: { handler }, payload });
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.faults;
    throw error;
  }
}

test("a payload is refused with every fault that its handler's schema finds", () => {
  expect(faultsOf({ text: "[]" })).toBeNull();
  expect(faultsOf({ text: 7, more: 1 })).toMatchObject([{ path: "payload.text" }, { path: "payload.more" }]);
  expect(faultsOf({}, "of another deployment")).toBeNull();
});

test("a payload at which its handler's schema throws is refused, without what it holds", () => {
  const [fault] = z
    .array(z.object({ path: z.string(), message: z.string() }))
    .parse(faultsOf({ text: "secret" }));
  expect(fault?.path).toBe("payload");
  expect(fault?.message).toMatch(/^cannot be read: SyntaxError/);
  expect(fault?.message).not.toContain("secret");
});
