import { describe, expect, test } from "vitest";
import { shapeFaults } from "../../lib/schedule/shape-faults.ts";
import { targetShape } from "../../lib/schedule/target-shape.ts";

describe("a target", () => {
  test.each<[unknown, unknown]>([
    [{ handler: "order-unshipped" }, { handler: "order-unshipped" }],
    [{ event: {} }, { event: { bus: "default", source: "carillon", detailType: "carillon.job.due" } }],
    [
      { event: { source: "shop" } },
      { event: { bus: "default", source: "shop", detailType: "carillon.job.due" } },
    ],
    [{ queue: "demo" }, { queue: "demo" }],
    [
      { queue: "demo.fifo", groupId: "a" },
      { queue: "demo.fifo", groupId: "a" },
    ],
    [
      { queue: "arn:aws:sqs:eu-central-1:000000000000:demo" },
      { queue: "arn:aws:sqs:eu-central-1:000000000000:demo" },
    ],
    [
      { queue: "http://127.0.0.1:8788/000000000000/demo" },
      { queue: "http://127.0.0.1:8788/000000000000/demo" },
    ],
    [
      { queue: "demo", attributes: { kind: "x" } },
      { queue: "demo", attributes: { kind: "x" } },
    ],
  ])("%j is accepted", (input, target) => {
    expect(targetShape.parse(input)).toEqual(target);
  });

  test.each<[unknown, string[]]>([
    [{}, [""]],
    [null, [""]],
    ["demo", [""]],
    [[], [""]],
    [{ queue: "a", handler: "b" }, [""]],
    [{ quue: "a" }, [""]],
    [{ queue: 5 }, ["queue"]],
    [{ queue: "" }, ["queue"]],
    [{ queue: "two words" }, ["queue"]],
    [{ queue: "demo.fifos" }, ["queue"]],
    [{ queue: "http://user:secret@example.com/000000000000/demo" }, ["queue"]],
    [{ queue: "http://example.com/x/../demo" }, ["queue"]],
    [{ queue: "a", groupId: "", colour: 1 }, ["colour", "groupId"]],
    [{ queue: "a", attributes: { "AWS.x": "1" } }, ["attributes.AWS.x"]],
    [{ queue: "a", attributes: { x: "\u0001" } }, ["attributes.x"]],
    [{ queue: "a", attributes: { x: "" } }, ["attributes.x"]],
    [
      { queue: "a", attributes: Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`n${n}`, "x"])) },
      ["attributes"],
    ],
    [{ handler: "Order" }, ["handler"]],
    [{ handler: "../secrets" }, ["handler"]],
    [{ event: 5 }, ["event"]],
    [{ event: { bus: 3, source: 4 } }, ["event.bus", "event.source"]],
    [{ event: { source: "aws.ec2" } }, ["event.source"]],
    [{ event: { detailType: "x".repeat(129) } }, ["event.detailType"]],
    [{ event: { detail: {} } }, ["event.detail"]],
    [{ webhook: "https://example.com" }, ["webhook"]],
  ])("%j is refused at its faults", (input, paths) => {
    const result = targetShape.safeParse(input, { reportInput: true });
    expect(result.success).toBe(false);
    expect(
      (result.error === undefined ? [] : shapeFaults(result.error)).map((fault) => fault.path).sort(),
    ).toEqual(paths);
  });
});
