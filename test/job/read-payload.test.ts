import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../lib/job/define-job.ts";
import { refuseUnfitPayload } from "../../lib/job/read-payload.ts";
import { Refusal } from "../../lib/refusal.ts";

const schemaOf = (payload: z.ZodType) => [defineJob({ name: "own", payload, run: async () => {} })];

const handlers = [
  defineJob({
    name: "converts",
    payload: z.strictObject({ text: z.string().transform((text): unknown => JSON.parse(text)) }),
    run: async () => {},
  }),
];

function faultsOf(payload: unknown, handler = "converts", among = handlers): unknown {
  try {
    refuseUnfitPayload(among, { target: { handler }, payload });
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

test("a payload at which its handler's schema throws is refused, and the message contains nothing of the payload", () => {
  expect(faultsOf({ text: "secret" })).toEqual([
    { path: "payload", message: "cannot be read: its schema threw SyntaxError" },
  ]);
  const throws = (error: unknown) =>
    schemaOf(
      z.unknown().transform(() => {
        throw error;
      }),
    );
  const named = Object.assign(new Error("secret"), { name: "the secret" });
  for (const [error, shown] of [
    [named, "Error"],
    ["secret", "something of type string"],
    [null, "something of type object"],
  ])
    expect(faultsOf(1, "own", throws(error))).toEqual([
      { path: "payload", message: `cannot be read: its schema threw ${shown}` },
    ]);
});

test("a payload is stored as it was sent, even when its handler's schema changes it", () => {
  const payload = { list: [3, 1, 2] };
  const sorts = z.custom<typeof payload>().transform((given) => given.list.sort());
  expect(faultsOf(payload, "own", schemaOf(sorts))).toBeNull();
  expect(payload).toEqual({ list: [3, 1, 2] });
});

test("the messages of a schema are cut to a short text that the database can store", () => {
  const says = z.unknown().superRefine((_, context) => {
    context.addIssue({
      code: "custom",
      path: ["\u0000".repeat(3), "x"],
      message: `\ud800\u0000${"y".repeat(1e6)}`,
    });
  });
  const [fault] = z
    .array(z.object({ path: z.string(), message: z.string() }))
    .parse(faultsOf(1, "own", schemaOf(says)));
  expect(fault?.path).toBe("payload..x");
  expect(fault?.message).toBe(`\ufffd${"y".repeat(499)}`);
});

describe("a schema that returns a promise", () => {
  const rejections: unknown[] = [];
  const note = (error: unknown) => void rejections.push(error);
  beforeEach(() => process.on("unhandledRejection", note));
  afterEach(() => process.off("unhandledRejection", note));

  const rejects = async () => {
    await null;
    throw new Error("secret");
  };
  const throwsAtOnce = z.unknown().transform(() => {
    throw new Error("secret");
  });

  test.each<[string, z.ZodType]>([
    ["once", z.string().refine(rejects)],
    ["twice", z.string().refine(rejects).refine(rejects)],
    ["in a union with a schema that accepts the payload", z.union([z.string().refine(rejects), z.string()])],
    ["that accepts the payload", z.string().refine(async () => true)],
    [
      "beside one that throws",
      z.preprocess((text) => [text, text], z.tuple([z.string().refine(rejects), throwsAtOnce])),
    ],
  ])(
    "a schema that returns a promise (%s) is refused with a sentence, and a rejection does not end the process",
    async (_, schema) => {
      expect(faultsOf("text", "own", schemaOf(schema))).toEqual([
        {
          path: "payload",
          message: "cannot be read: its schema returned a promise, and has to be synchronous",
        },
      ]);
      await new Promise((resolve) => setImmediate(resolve));
      expect(rejections).toEqual([]);
    },
  );
});
