import { describe, expect, test, vi } from "vitest";
import { bodyBytesMax, bodyValuesMax, readJsonBody } from "../../lib/api/request/json-body.ts";
import { Problem } from "../../lib/api/request/problem.ts";
import { Refusal } from "../../lib/refusal.ts";
import { payloadBytesMax } from "../../lib/schedule/shape/schedule-shape.ts";
import { countedSteps } from "../support/counted-steps.ts";
import { fullBodies } from "./json-body-steps.ts";

const read = (body: string, contentType = "application/json", isBase64Encoded = false) =>
  readJsonBody({ body, contentType, isBase64Encoded });

function kindOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Problem || error instanceof Refusal) return error.kind;
    throw error;
  }
  return "accepted";
}

describe("a body", () => {
  test("A missing or empty body is undefined, with any content type", () => {
    expect(
      readJsonBody({ body: undefined, contentType: "text/plain", isBase64Encoded: false }),
    ).toBeUndefined();
    expect(readJsonBody({ body: "", contentType: undefined, isBase64Encoded: true })).toBeUndefined();
  });

  test.each([
    "application/json",
    "application/json; charset=utf-8",
    'Application/JSON;charset="UTF-8"',
    "application/merge-patch+json",
  ])("A body may be sent as %s", (type) => {
    expect(read('{"a":"ä"}', type)).toEqual({ a: "ä" });
  });

  test("A body may have no content type, and may be in base64", () => {
    expect(readJsonBody({ body: "1", contentType: undefined, isBase64Encoded: false })).toBe(1);
    expect(read(Buffer.from('{"a":"ä"}').toString("base64"), "application/json", true)).toEqual({ a: "ä" });
  });

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "text/json",
    "application/jsonp",
    "application/json; charset=iso-8859-1",
    "",
  ])("A body sent as %j is refused", (type) => {
    expect(kindOf(() => read("{}", type))).toBe("media-type");
  });

  test.each(["{", "{'a':1}", "{a:1}", "[1,]", "NaN", "\u0000", '{"a":1} x', '"\n"'])(
    "A body that is not JSON is refused: %j",
    (body) => {
      expect(kindOf(() => read(body))).toBe("invalid");
    },
  );

  test("A body that is not UTF-8 is refused", () => {
    expect(
      kindOf(() => read(Buffer.from([0x22, 0xff, 0x22]).toString("base64"), "application/json", true)),
    ).toBe("invalid");
  });

  test("A body may have up to five megabytes, counted in bytes", () => {
    const full = JSON.stringify("é".repeat((bodyBytesMax - 2) / 2));
    expect(kindOf(() => read(full))).toBe("accepted");
    expect(kindOf(() => read(`${full} `))).toBe("too-large");
    expect(kindOf(() => read(Buffer.from(`${full} `).toString("base64"), "application/json", true))).toBe(
      "too-large",
    );
  });

  test.each([undefined, "", "identity", " Identity "])(
    "A body may have the encoding %j",
    (contentEncoding) => {
      expect(
        readJsonBody({ body: "1", contentType: undefined, contentEncoding, isBase64Encoded: false }),
      ).toBe(1);
    },
  );

  test.each(["gzip", "br", "identity, gzip", "\u0000".repeat(1_000)])(
    "A body with the encoding %j is refused",
    (contentEncoding) => {
      const sent = { body: "1", contentType: undefined, contentEncoding, isBase64Encoded: false };
      expect(kindOf(() => readJsonBody(sent))).toBe("media-type");
    },
  );

  test("A body has a maximum number of values, counted before parsing", () => {
    const of = (value: string, count: number) => `[${Array.from({ length: count }, () => value).join(",")}]`;
    for (const [value, each] of [
      ["11111", 1],
      ["{    }", 1],
      ["[\n\n]", 1],
      ['",[{,"', 1],
      ['"\\""', 1],
      ["[0, 1]", 3],
      ['{ "a": 1 }', 2],
    ] as const) {
      const most = Math.floor((bodyValuesMax - 1) / each);
      expect([value, kindOf(() => read(of(value, most)))]).toEqual([value, "accepted"]);
      expect([value, kindOf(() => read(of(value, most + 1)))]).toEqual([value, "too-large"]);
    }
    expect(bodyValuesMax).toBeGreaterThan(payloadBytesMax / 2 + 100);
  });

  test("Counting the values of a body stops at the first value beyond the limit", async () => {
    const counted = await countedSteps(new URL("./json-body-steps.ts", import.meta.url));
    expect(counted).toHaveLength(5);
    // Counting to the end would take more than twice as many steps for each of these bodies.
    for (const { name, steps } of counted) expect(steps, name).toBeLessThan(6 * bodyValuesMax);
  });

  test("A body with too many values is refused before it is parsed", () => {
    const parse = vi.spyOn(JSON, "parse");
    try {
      for (const [value, body] of fullBodies())
        expect([value, kindOf(() => read(body))]).toEqual([value, "too-large"]);
      expect(parse).not.toHaveBeenCalled();
    } finally {
      parse.mockRestore();
    }
  });

  test("A body nested too deeply is refused, at any depth", () => {
    const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
    expect(kindOf(() => read(nested(bodyValuesMax - 1)))).toBe("invalid");
    expect(kindOf(() => read(nested(2_000_000)))).toBe("too-large");
  });

  test("A body with a whole number that would lose digits is refused", () => {
    expect(kindOf(() => read('{"id":12345678901234567890}'))).toBe("invalid");
    expect(kindOf(() => read("[1,-9007199254740993]"))).toBe("invalid");
    expect(kindOf(() => read(`[${"9".repeat(400)}]`))).toBe("invalid");
  });

  test.each<[string, unknown]>([
    ["9007199254740991", 9_007_199_254_740_991],
    ["9007199254740992", 2 ** 53],
    ["100000000000000000000", 1e20],
    [`1${"0".repeat(22)}`, 1e22],
    ["0.12345678901234567890", 0.123_456_789_012_345_68],
    ["12345678901234567890e3", 1.234_567_890_123_456_8e22],
    ['"12345678901234567890"', "12345678901234567890"],
    ['"\\"12345678901234567890"', '"12345678901234567890'],
    ['["\\\\",1234567890123456]', ["\\", 1_234_567_890_123_456]],
  ])("A body may contain %s", (body, value) => {
    expect(read(body)).toEqual(value);
  });
});

test("The refusal of a body that is not JSON does not quote it", () => {
  // The engine's message quotes the text, so a secret in a payload would get into the caller's
  // logs.
  const said = (text: string) => {
    try {
      read(text);
    } catch (error) {
      return String(error);
    }
    throw new Error("It was taken.");
  };
  for (const text of ["hunter2", '{"a": hunter2}', '["hunter2",]', '["hunter2"'])
    expect(said(text)).not.toContain("hunter2");
  expect(said('["hunter2"')).toContain("(at character 10)");
});
