import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import type { Json } from "../../lib/schedule/shape/json.ts";
import { jsonForQueues } from "../../lib/schedule/shape/json-for-queues.ts";
import { parseScheduleBody, payloadBytesMax } from "../../lib/schedule/shape/schedule-shape.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let database: TestDatabase;
let sql: Sql;

beforeAll(async () => {
  database = await testDatabase();
  sql = connect({ DATABASE_URL: database.url });
});

afterAll(async () => {
  await sql.end();
  await database.drop();
});

const bytesOf = (payload: Json) => Buffer.byteLength(jsonForQueues(payload));

/** The fault that the call reports for the payload; null if it accepts it. */
async function atTheCall(payload: Json): Promise<string | null> {
  const [row] = await sql<{ fault: string | null }[]>`
    select carillon.inbox_fault('put', ${JSON.stringify({ key: "a", when: "in 1h", target: {}, payload })}::text::jsonb, 'a') as fault`;
  return row?.fault ?? null;
}

function atTheApi(payload: Json): boolean {
  try {
    parseScheduleBody({ when: "in 1h", target: { queue: "demo" }, payload });
    return true;
  } catch {
    return false;
  }
}

/** A payload filled with a text: as large as is allowed, and larger by `more` bytes. */
function filled(text: string, rest: (text: string) => Json, more: number): Json {
  const room = payloadBytesMax - bytesOf(rest("")) + more;
  const each = bytesOf(text) - 2;
  const many = text.repeat(Math.floor(room / each));
  return rest(many + "x".repeat(room - each * Math.floor(room / each)));
}

const texts: [string, string][] = [
  ["U+FFFF", "\uffff"],
  ["U+FFFE", "\ufffe"],
  ["quotes", '"'],
  ["backslashes", "\\"],
  ["a backslash before a quote", '\\"'],
  ["line breaks", "\n"],
  ["control characters", "\u0001"],
  ["DEL", "\u007f"],
  ["ideographs", "\u4e2d"],
  ["emoji", "\u{1f600}"],
  ["line separators", "\u2028"],
  ["commas with a blank", "a, b"],
  ["text that looks like a member", '": '],
];

test.each(texts)(
  "a payload full of %s is accepted and refused by a call in SQL as by the API",
  async (_what, text) => {
    for (const rest of [
      (filling: string): Json => filling,
      (filling: string): Json => ({ list: [1, "a, b", null, true], more: { text: filling } }),
      (filling: string): Json => ({ [filling]: [[], {}] }),
    ]) {
      const [fits, exceeds] = [filled(text, rest, 0), filled(text, rest, 1)];
      expect([bytesOf(fits), bytesOf(exceeds)]).toEqual([payloadBytesMax, payloadBytesMax + 1]);
      expect([atTheApi(fits), atTheApi(exceeds)]).toEqual([true, false]);
      expect([await atTheCall(fits), await atTheCall(exceeds)]).toEqual([
        null,
        `put.payload takes up to ${payloadBytesMax} bytes as JSON, has ${payloadBytesMax + 1}`,
      ]);
    }
  },
);

test("a call in SQL counts the bytes of a payload of texts and lists as the API does", async () => {
  const leaf = fc.oneof(
    fc.string({
      unit: fc.constantFrom("a", '"', "\\", ",", " ", ":", "\n", "\u0002", "\uffff", "\u4e2d", "{", "]"),
    }),
    fc.constantFrom<Json>(null, true, false, 0, 7, -12),
  );
  const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
    tree: fc.oneof(
      { depthSize: "small" },
      leaf,
      fc.array(tie("tree"), { maxLength: 4 }),
      fc.dictionary(fc.string({ maxLength: 3 }), tie("tree"), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  const filling = "x".repeat(payloadBytesMax);
  await fc.assert(
    fc.asyncProperty(tree, async (drawn) => {
      if (JSON.stringify(drawn).includes("\\u0000")) return;
      // So large that the bytes are counted one by one.
      const payload = [drawn, filling];
      expect(await atTheCall(payload)).toBe(
        `put.payload takes up to ${payloadBytesMax} bytes as JSON, has ${bytesOf(payload)}`,
      );
    }),
    { numRuns: 60 },
  );
});

test("a number that JSON writes shorter than Postgres does never makes a call in SQL refuse a payload that the API accepts", async () => {
  const payload = Array.from({ length: 38_000 }, (_, n) => (n % 2 === 0 ? 1e21 : 1e-7));
  expect(atTheApi(payload)).toBe(true);
  expect(await atTheCall(payload)).toBeNull();
});
