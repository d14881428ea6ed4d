import { describe, expect, test } from "vitest";
import { scheduleDefaults } from "../../lib/client/schedule-defaults.ts";
import { rangeOf, readObject, withText } from "../../lib/page/data/document/json-text.ts";
import { movesTimes } from "../../lib/page/data/document/schedule-document.ts";
import { curlText } from "../../lib/page/data/text/shell-text.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";

const text = `{
  "when": "every 5m",
  "retry": { "attempts": 3, "delays": ["1s", "2s"] },
  "payload": { "amount": 1.50, "big": 1e3 }
}`;

describe("the text of a schedule", () => {
  test("A field of the form changes only its own place in the text", () => {
    expect(withText(text, ["when"], '"every 1h"')).toBe(text.replace("every 5m", "every 1h"));
    expect(withText(text, ["retry", "attempts"], "9")).toBe(text.replace(": 3", ": 9"));
    expect(withText(text, ["timeout"], '"5s"')).toBe(
      text.replace("1e3 }\n}", '1e3 },\n  "timeout": "5s"\n}'),
    );
    expect(withText(text, ["catchUp", "policy"], '"all"')).toContain('"catchUp": { "policy": "all" }');
  });

  test("A field that is emptied leaves the text with its comma", () => {
    const shorter = withText(text, ["when"], undefined);
    expect(JSON.parse(shorter)).not.toHaveProperty("when");
    expect(JSON.parse(withText(text, ["payload"], undefined))).not.toHaveProperty("payload");
    expect(withText(text, ["retry", "delays"], undefined)).toContain('"retry": { "attempts": 3 }');
    expect(withText(text, ["absent"], undefined)).toBe(text);
  });

  test("The last of two members with one name is changed, because it counts", () => {
    expect(withText('{ "a": 1, "a": 2 }', ["a"], "3")).toBe('{ "a": 1, "a": 3 }');
  });

  test("A text that is not JSON has the place of its fault", () => {
    const read = readObject('{ "a": 1, }');
    expect(read).toMatchObject({ ok: false });
    expect(readObject("[1]")).toMatchObject({ ok: false });
    expect(readObject('{ "a": 1 }')).toEqual({ ok: true, value: { a: 1 } });
  });

  test("The path of a fault leads to its place in the text", () => {
    const at = (path: string) => {
      const { from, to } = rangeOf(text, path);
      return text.slice(from, to);
    };
    expect(at("retry.delays[1]")).toBe('"2s"');
    expect(at("payload.amount")).toBe("1.50");
    expect(at("retry.base")).toBe('{ "attempts": 3, "delays": ["1s", "2s"] }');
  });
});

describe("the defaults that the form shows", () => {
  test("The defaults that the form shows are those of the API", () => {
    const { when: _, target: __, ...rest } = parseScheduleBody({ when: "every 5m", target: { queue: "a" } });
    expect(scheduleDefaults).toEqual(rest);
  });
});

describe("the coming runs of an edit", () => {
  test("An edit that changes no time keeps the runs of the stored version", () => {
    const before = { when: "every 5m", timezone: "UTC" };
    expect(movesTimes(before, { ...before, description: "x" })).toBe(false);
    expect(movesTimes(before, { ...before, spread: "1m" })).toBe(true);
    expect(movesTimes({ when: "in 3h" }, { when: "in 3h" })).toBe(true);
  });
});

describe("a call as curl", () => {
  test("A copied call quotes its body and never has the token", () => {
    const copied = curlText({
      method: "PUT",
      url: "http://127.0.0.1:1/v1/schedules/a",
      body: `{"a":"it's"}`,
    });
    expect(copied).toBe(
      `curl -X PUT http://127.0.0.1:1/v1/schedules/a -H "authorization: Bearer $CARILLON_TOKEN" -H 'content-type: application/json' -d '{"a":"it'\\''s"}'`,
    );
  });
});
