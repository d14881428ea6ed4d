import { expect, test } from "vitest";
import { parseTargetPrefix, targetPrefixesFrom } from "../../lib/config/target-settings.ts";
import { targetShape } from "../../lib/schedule/shape/target-shape.ts";
import { pathsOfOtherKeys } from "../../lib/target/target-prefixes.ts";

const listed = [
  "good:=queue/good-*",
  "also:=queue/good-mails",
  "good:=queue/only.fifo",
  "good:=handler/charge",
  "good:=function/good-resize",
  "good:=bus/teams/good",
  "good:=source/good.*",
].map(parseTargetPrefix);

const of = (target: unknown, key: string) => pathsOfOtherKeys(listed, targetShape.parse(target), key);
const arn = (service: string, resource: string) => `arn:aws:${service}:eu-central-1:123456789012:${resource}`;

test.each<[unknown, string[]]>([
  [{ queue: "good-mails" }, ["target.queue"]],
  [{ queue: arn("sqs", "good-mails") }, ["target.queue"]],
  [{ queue: "https://sqs.eu-central-1.amazonaws.com/123456789012/good-mails" }, ["target.queue"]],
  [{ queue: "only.fifo" }, ["target.queue"]],
  [{ handler: "charge" }, ["target.handler"]],
  [{ lambda: "good-resize" }, ["target.lambda"]],
  [{ lambda: "good-resize:live" }, ["target.lambda"]],
  [{ lambda: arn("lambda", "function:good-resize:7") }, ["target.lambda"]],
  [{ event: { bus: "teams/good" } }, ["target.event.bus"]],
  [{ event: { bus: arn("events", "event-bus/teams/good") } }, ["target.event.bus"]],
  [{ event: { source: "good.orders" } }, ["target.event.source"]],
  [{ event: { bus: "teams/good", source: "good." } }, ["target.event.bus", "target.event.source"]],
])("a target that is kept for a prefix is refused to other keys: %j", (target, paths) => {
  expect(of(target, "evil:x")).toEqual(paths);
  // A key in which the prefix stands later is another key.
  expect(of(target, "evil:good:x")).toEqual(paths);
  expect(of(target, "good:x")).toEqual([]);
});

test.each<unknown>([
  { queue: "good" },
  { queue: "only" },
  { queue: "the-good-mails" },
  { handler: "charge-all" },
  { lambda: "good-resize-2" },
  { event: { source: "good" } },
  { event: {} },
  { webhook: { url: "https://example.com/good-mails" } },
])("a target without an entry is for all keys: %j", (target) => {
  expect(of(target, "evil:x")).toEqual([]);
});

test("with several entries for a name, keys of each of their prefixes may use it", () => {
  expect(of({ queue: "good-mails" }, "also:x")).toEqual([]);
  expect(of({ queue: "good-others" }, "also:x")).toEqual(["target.queue"]);
});

test("entries are read one per line, since a prefix may contain a comma or an equals sign", () => {
  expect(targetPrefixesFrom({ TARGET_PREFIXES: "a,b=c:=queue/x\nd:=handler/y*" })).toEqual([
    { prefix: "a,b=c:", kind: "queue", name: "x" },
    { prefix: "d:", kind: "handler", name: "y*" },
  ]);
  expect(targetPrefixesFrom({})).toEqual([]);
});

test.each([
  "a:=queue/",
  "a:=queue/b=c",
  "a:=topic/b",
  "=queue/b",
  "a:queue/b",
  "a:=handler/B",
  "a:=source/aws.x",
])("an entry of another form is refused with the allowed one: %s", (entry) => {
  expect(() => parseTargetPrefix(entry)).toThrow(/^it takes a prefix of keys and one of queue, bus, .* not /);
});
