import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keyFault } from "../../lib/schedule/shape/schedule-key.ts";
import { payloadBytesMax } from "../../lib/schedule/shape/schedule-shape.ts";
import { type InboxWorld, inboxWorld } from "./inbox-world.ts";

let world: InboxWorld;
beforeAll(async () => {
  world = await inboxWorld();
});
afterAll(() => world.stop());

const target = { queue: "demo" };
const fits = { key: "fits", when: "in 1h", target };
const json = (value: unknown) => JSON.stringify(value);
const send = (command: unknown) =>
  world.caller.sql`select carillon.send_command(${json(command)}::text::jsonb) as id`;

describe("calls that are refused at once", () => {
  const refused: [string, unknown, string][] = [
    ["an array in place of an object", [1], "takes an object with one of"],
    ["null", null, "takes an object with one of"],
    ["no verb", { putt: fits }, "takes one of put, patch, delete"],
    ["two verbs", { put: fits, delete: "fits" }, "and one alone"],
    ["a put of a text", { put: json(fits) }, "put takes an object, has a JSON string (where a driver"],
    ["a put without a key", { put: { when: "in 1h", target } }, "put.key is required"],
    ["a key that is a number", { put: { ...fits, key: 7 } }, "put.key takes a string"],
    ["a key that is too long", { delete: "x".repeat(256) }, "delete.key takes 1 to 255 characters, has 256"],
    ["an empty key", { delete: "" }, "takes 1 to 255 characters, has 0"],
    ["a key with a slash", { delete: "a/b" }, "may not hold any of"],
    ["a key with a backslash", { delete: "a\\b" }, "may not hold any of"],
    ["a key that is two dots", { delete: ".." }, "may not be"],
    ["a key with a blank at its end", { delete: "a " }, "may not begin or end with a blank"],
    ["a key with a line break", { delete: "a\nb" }, "printable characters only"],
    ["a put without a when", { put: { key: "a", target } }, "put.when takes a string"],
    ["a put without a target", { put: { key: "a", when: "in 1h" } }, "put.target takes an object"],
    ["a job without a target", { job: { key: "a" } }, "job.target takes an object"],
    [
      "a pause in another's name",
      { pause: { key: "a", owner: "ann" } },
      "pause.owner is the role that calls",
    ],
    [
      "a resume in another's name",
      { resume: { key: "a", owner: "ann" } },
      "resume.owner is the role that calls",
    ],
    ["a pause of a number", { pause: 7 }, "pause takes a key, or an object with a key"],
    [
      "a payload that is too long",
      { put: { ...fits, payload: "x".repeat(payloadBytesMax - 1) } },
      "put.payload takes up to 245760 bytes",
    ],
    [
      "a command that is too long",
      { put: { ...fits, description: "x".repeat(1024 * 1024) } },
      "takes up to 1048576 bytes",
    ],
  ];

  test.each(refused)("%s is refused at once", async (_what, command, message) => {
    await expect(send(command)).rejects.toMatchObject({
      code: "22023",
      message: expect.stringContaining(message),
    });
    expect(await world.waiting()).toBe(0);
  });

  test("a number that JavaScript would change is refused at once", async () => {
    const ids = ["12345678901234567", "-9007199254740993", "4611686018427387903"];
    for (const id of ids)
      await expect(
        world.caller
          .sql`select carillon.put_schedule(${`{"key": "a", "when": "in 1h", "target": {"queue": "q"}, "payload": [{"id": ${id}}]}`}::text::jsonb)`,
      ).rejects.toMatchObject({
        code: "22023",
        message: expect.stringContaining(`the number ${id} cannot be kept`),
      });
  });

  test.each([
    "select carillon.put_schedule(null)",
    "select carillon.patch_schedule(null)",
    "select carillon.delete_schedule(null)",
    "select carillon.pause_schedule(null)",
    "select carillon.pause_schedule('a', null, 'infinity')",
    "select carillon.resume_schedule(null)",
    "select carillon.enqueue_job(null)",
    "select carillon.send_command(null)",
  ])("%s is refused at once", async (statement) => {
    await expect(world.caller.sql.unsafe(statement)).rejects.toMatchObject({ code: "22023" });
  });
});

describe("calls that are accepted", () => {
  test("whole numbers and payloads at their limits are accepted", async () => {
    await send({ put: { ...fits, payload: "x".repeat(payloadBytesMax - 2) } });
    await send({ put: { ...fits, payload: [2 ** 53, 1e300, 2 ** 60, 0.1, -1e17] } });
    await send({ put: { ...fits, payload: Array.from({ length: 40_000 }, () => ["a"]) } });
    await world.sql`delete from carillon.inbox`;
  });

  test("calls return numbers of commands that only rise", async () => {
    const ids = [await send({ delete: "a" }), await send({ pause: "a" })].map(([row]) => Number(row?.["id"]));
    expect(ids[1]).toBeGreaterThan(ids[0] ?? 0);
    await world.sql`delete from carillon.inbox`;
  });

  test("every key that the API accepts is accepted", async () => {
    const unit = fc.oneof(
      fc.string({ unit: "binary", maxLength: 5 }),
      fc.constantFrom(" ", "/", "%", ".", "\t", "ä", "𝄞", "\u00a0"),
    );
    const key = fc.array(unit, { maxLength: 4 }).map((parts) => parts.join("").replaceAll("\u0000", ""));
    await fc.assert(
      fc.asyncProperty(fc.array(key, { minLength: 50, maxLength: 50 }), async (keys) => {
        const refused = await world.sql<{ key: string }[]>`
          select key from unnest(${keys}::text[]) key where carillon.inbox_key_fault(key) is not null`;
        expect(refused.filter((each) => keyFault(each.key) === null)).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });
});
