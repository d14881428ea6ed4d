import { describe, expect, test } from "vitest";
import { transformed, transformerFault } from "../../lib/tools/local/events/input-transformer.ts";

const event = {
  id: "e-1",
  time: "2026-03-02T10:00:00Z",
  detail: { order: 7, who: 'Ann "A" \\ B', items: [{ sku: "x" }, { sku: "y" }], paid: true, note: null },
};
const ingested = { ruleName: "r", ruleArn: "arn:r", ingestedAt: "2026-03-02T10:00:01.000Z" };
const paths = {
  id: "$.id",
  order: "$.detail.order",
  who: "$.detail.who",
  items: "$.detail.items",
  second: "$.detail.items[1].sku",
  paid: "$.detail.paid",
  none: "$.detail.no.such",
};
const made = (template: string) => transformed({ paths, template }, event, ingested);

describe("an input transformer", () => {
  test("an input transformer inserts values as JSON, a string with its quotes", () => {
    const template =
      '{"id": <id>, "order": <order>, "who": <who>, "items": <items>, "paid": <paid>, "none": <none>}';
    const { who, items } = event.detail;
    expect(JSON.parse(made(template))).toEqual({ id: "e-1", order: 7, who, items, paid: true, none: "" });
  });

  test("an input transformer inserts values into strings, escaped so that they stay inside", () => {
    expect(
      JSON.parse(made('{"key": "order:<order>:<second>", "says": "<who>!", "none": "[<none>]"}')),
    ).toEqual({
      key: "order:7:y",
      says: `${event.detail.who}!`,
      none: "[]",
    });
    expect(JSON.parse(made('{"items": "<items>"}'))).toEqual({ items: "[{sku:x},{sku:y}]" });
    expect(JSON.parse(made('{"quote\\"d": "a \\" <id>", "next": <order>}'))).toEqual({
      'quote"d': 'a " e-1',
      next: 7,
    });
  });

  test("an input transformer knows the rule and the time of the event", () => {
    const template =
      '{"by": <aws.events.rule-name>, "at": <aws.events.event.ingestion-time>, "whole": <aws.events.event.json>}';
    expect(JSON.parse(made(template))).toEqual({ by: "r", at: ingested.ingestedAt, whole: event });
  });

  test.each([
    ['{"a": <other>}', {}, "there is no variable <other>"],
    ["{a: <id>}", { id: "$.id" }, "takes a JSON object"],
    ['{"a": <id>}', { id: "detail.id" }, "is not a path"],
    ['{"a": 1}', { "aws.id": "$.id" }, "are reserved"],
  ])("an input transformer is refused as EventBridge refuses it: %s", (template, own, why) => {
    expect(transformerFault({ paths: own, template })).toContain(why);
  });
});
