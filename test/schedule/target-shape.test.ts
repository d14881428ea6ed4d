import { describe, expect, test } from "vitest";
import { shapeFaults } from "../../lib/schedule/shape/shape-faults.ts";
import { targetShape } from "../../lib/schedule/shape/target-shape.ts";

const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString("base64")}`;
const hook = (parts: object) => ({ webhook: { url: "https://example.com/hook", ...parts } });
const plain = { method: "POST", headers: {} };
const headers = (count: number, value = "x") =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, value]));

describe("a target", () => {
  test.each<[unknown, unknown]>([
    [{ handler: "order-unshipped" }, { handler: "order-unshipped" }],
    [{ event: {} }, { event: { bus: "default", source: "carillon", detailType: "carillon.job.due" } }],
    [
      { event: { source: "shop" } },
      { event: { bus: "default", source: "shop", detailType: "carillon.job.due" } },
    ],
    [
      { event: { detailType: "carillonade.due" } },
      { event: { bus: "default", source: "carillon", detailType: "carillonade.due" } },
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
    [hook({}), hook(plain)],
    [
      hook({ method: "PUT", headers: { Cookie: "a=b", "content-type": "application/json" } }),
      hook({ method: "PUT", headers: { Cookie: "a=b", "content-type": "application/json" } }),
    ],
    [hook({ secret: secretOf(24) }), hook({ ...plain, secret: [secretOf(24)] })],
    [
      hook({ secret: [secretOf(64), secretOf(32)] }),
      hook({ ...plain, secret: [secretOf(64), secretOf(32)] }),
    ],
    [hook({ secret: "***" }), hook({ ...plain, secret: ["***"] })],
    [hook({ secret: [secretOf(32), "***"] }), hook({ ...plain, secret: [secretOf(32), "***"] })],
    [hook({ headers: headers(20) }), hook({ method: "POST", headers: headers(20) })],
    [
      { webhook: { url: "http://127.0.0.1:9000/?a=b" } },
      { webhook: { url: "http://127.0.0.1:9000/?a=b", ...plain } },
    ],
    [{ lambda: "resize" }, { lambda: "resize", invocation: "async" }],
    [
      { lambda: "arn:aws:lambda:eu-central-1:000000000000:function:resize:live", invocation: "sync" },
      { lambda: "arn:aws:lambda:eu-central-1:000000000000:function:resize:live", invocation: "sync" },
    ],
    [{ lambda: "resize:$LATEST" }, { lambda: "resize:$LATEST", invocation: "async" }],
  ])("the target %j is accepted", (input, target) => {
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
    [
      {
        queue: "a",
        attributes: Object.fromEntries(Array.from({ length: 7 }, (_, n) => [`n${n}`, "ü".repeat(1_000)])),
      },
      ["attributes"],
    ],
    [{ handler: "Order" }, ["handler"]],
    [{ handler: "../secrets" }, ["handler"]],
    [{ event: 5 }, ["event"]],
    [{ event: { bus: 3, source: 4 } }, ["event.bus", "event.source"]],
    [{ event: { source: "aws.ec2" } }, ["event.source"]],
    [{ event: { source: "AWS.ec2" } }, ["event.source"]],
    [{ event: { source: " aws.ec2" } }, ["event.source"]],
    [{ event: { detailType: "carillon.job.dead" } }, ["event.detailType"]],
    [{ event: { detailType: "carillon.job.due " } }, ["event.detailType"]],
    [{ event: { detailType: "  CARILLON.job.missed" } }, ["event.detailType"]],
    [{ event: { detailType: "Carillon.anything" } }, ["event.detailType"]],
    [{ event: { detailType: "x".repeat(129) } }, ["event.detailType"]],
    [{ event: { detail: {} } }, ["event.detail"]],
    [{ webhook: "https://example.com" }, ["webhook"]],
    [{ webhook: {} }, ["webhook.url"]],
    [hook({ url: "ftp://example.com/" }), ["webhook.url"]],
    [hook({ url: "https://" }), ["webhook.url"]],
    [hook({ url: "https:example.com" }), ["webhook.url"]],
    [hook({ url: "https://user:pass@example.com/" }), ["webhook.url"]],
    [hook({ url: "https://user@example.com/" }), ["webhook.url"]],
    [hook({ url: "https://example.com/#" }), ["webhook.url"]],
    [hook({ url: "https://example.com\\@evil.example/" }), ["webhook.url"]],
    [hook({ url: " https://example.com/" }), ["webhook.url"]],
    [hook({ url: "https://exa\tmple.com/" }), ["webhook.url"]],
    [hook({ url: `https://example.com/${"x".repeat(2_029)}` }), ["webhook.url"]],
    [hook({ method: "GET" }), ["webhook.method"]],
    [hook({ headers: { Host: "evil.example" } }), ["webhook.headers.Host"]],
    [hook({ headers: { "Webhook-Id": "1" } }), ["webhook.headers.Webhook-Id"]],
    [hook({ headers: { "Content-Length": "1" } }), ["webhook.headers.Content-Length"]],
    [hook({ headers: { "transfer-encoding": "chunked" } }), ["webhook.headers.transfer-encoding"]],
    [hook({ headers: { "a b": "x" } }), ["webhook.headers.a b"]],
    [hook({ headers: { a: "x\r\nhost: evil.example" } }), ["webhook.headers.a"]],
    [hook({ headers: { a: "ü" } }), ["webhook.headers.a"]],
    [hook({ headers: { a: "x", A: "y" } }), ["webhook.headers"]],
    [hook({ headers: headers(21) }), ["webhook.headers"]],
    [hook({ headers: headers(20, "x".repeat(400)) }), ["webhook.headers"]],
    [hook({ secret: secretOf(23) }), ["webhook.secret"]],
    [hook({ secret: secretOf(65) }), ["webhook.secret"]],
    [hook({ secret: secretOf(32).slice(6) }), ["webhook.secret"]],
    [hook({ secret: `${secretOf(32).slice(0, -1)}` }), ["webhook.secret"]],
    [hook({ secret: [] }), ["webhook.secret"]],
    [hook({ secret: ["***", secretOf(32)] }), ["webhook.secret[0]"]],
    [hook({ secret: [secretOf(32), secretOf(33), secretOf(34)] }), ["webhook.secret"]],
    [hook({ hasSecret: true }), ["webhook.hasSecret"]],
    [{ lambda: "two words" }, ["lambda"]],
    [{ lambda: "arn:aws:lambda:eu-central-1:0:function:resize" }, ["lambda"]],
    [{ lambda: "resize", invocation: "later" }, ["invocation"]],
  ])("the target %j is refused with the paths of its faults", (input, paths) => {
    const result = targetShape.safeParse(input, { reportInput: true });
    expect(result.success).toBe(false);
    expect(
      (result.error === undefined ? [] : shapeFaults(result.error)).map((fault) => fault.path).sort(),
    ).toEqual(paths);
  });

  test.each([
    [hook({ headers: { Host: "evil.example" } }), "is a header that Carillon sets itself"],
    [hook({ headers: { "a b": "x" } }), "is not a valid name of a header"],
  ])("the target %j is refused with the fault of the header's name", (input, message) => {
    const { error } = targetShape.safeParse(input, { reportInput: true });
    expect(error === undefined ? [] : shapeFaults(error)).toMatchObject([{ message }]);
  });

  test("no message of a fault contains the secret or a header", () => {
    const given = {
      url: "https://example.com/",
      secret: "whsec_notreally",
      headers: { authorization: "Bärer x" },
    };
    const result = targetShape.safeParse({ webhook: given }, { reportInput: true });
    const said = JSON.stringify(result.error === undefined ? [] : shapeFaults(result.error));
    expect(said).toContain("webhook.secret");
    expect(said).not.toMatch(/notreally|Bärer/);
  });
});
