import { describe, expect, test } from "vitest";
import { httpAnswer } from "../../lib/tools/local/lambda/http-answer.ts";
import { type HttpRequest, httpEvent } from "../../lib/tools/local/lambda/http-event.ts";

function request(changes: Partial<HttpRequest> = {}): HttpRequest {
  return {
    method: "GET",
    target: "/",
    httpVersion: "1.1",
    headers: {},
    body: Buffer.alloc(0),
    sourceIp: "127.0.0.1",
    receivedAt: new Date("2026-11-21T08:00:00.123Z"),
    ...changes,
  };
}

describe("an API Gateway event", () => {
  test("an API Gateway event has a decoded path, including encoded slashes, and the query as it was sent", () => {
    const event = httpEvent(request({ target: "/v1/schedules/order%3A1%2F2%20%C3%A9?n=%31&a=b+c" }));
    expect(event?.rawPath).toBe("/v1/schedules/order:1/2 é");
    expect(event?.rawQueryString).toBe("n=%31&a=b+c");
    expect(event?.queryStringParameters).toEqual({ n: "1", a: "b c" });
    expect(event?.requestContext.http.path).toBe(event?.rawPath);
  });

  test("an API Gateway event keeps a question mark within the query, and needs no query", () => {
    expect(httpEvent(request({ target: "/a?b=c?d" }))?.rawQueryString).toBe("b=c?d");
    const bare = httpEvent(request({ target: "/a" }));
    expect(bare?.rawQueryString).toBe("");
    expect(bare).not.toHaveProperty("queryStringParameters");
  });

  test("an API Gateway event is not made of a path that is not percent-encoded UTF-8", () => {
    expect(httpEvent(request({ target: "/%" }))).toBeNull();
    expect(httpEvent(request({ target: "/%ff" }))).toBeNull();
  });

  test("an API Gateway event has lower-case headers, joined when one was sent twice, and cookies apart", () => {
    const headers = { "X-Two": ["a", "b"], host: ["localhost:8787"], cookie: ["c=1; d=2"] };
    const event = httpEvent(request({ headers }));
    expect(event?.headers).toMatchObject({ "x-two": "a,b", host: "localhost:8787" });
    expect(event?.headers).not.toHaveProperty("cookie");
    expect(event?.cookies).toEqual(["c=1", "d=2"]);
    expect(event?.requestContext.domainName).toBe("localhost");
  });

  test.each([
    ["application/json", false],
    ["application/merge-patch+json; charset=utf-8", false],
    ["text/plain", false],
    ["application/octet-stream", true],
    ["application/x-www-form-urlencoded", true],
    [undefined, true],
  ])("an API Gateway event has a body of type %s in base64: %s", (type, isBase64Encoded) => {
    const headers = type === undefined ? {} : { "content-type": [type] };
    const event = httpEvent(request({ headers, body: Buffer.from('{"é":1}') }));
    expect(event?.isBase64Encoded).toBe(isBase64Encoded);
    expect(Buffer.from(event?.body ?? "", isBase64Encoded ? "base64" : "utf8").toString()).toBe('{"é":1}');
  });

  test("an API Gateway event has text that is not UTF-8 byte for byte", () => {
    const headers = { "content-type": ["application/json"] };
    const event = httpEvent(request({ headers, body: Buffer.from([0x22, 0xff, 0x22]) }));
    expect(event).toMatchObject({ isBase64Encoded: true, body: "Iv8i" });
  });

  test("an API Gateway event has no body when none was sent", () => {
    const event = httpEvent(request());
    expect(event).not.toHaveProperty("body");
    expect(event?.isBase64Encoded).toBe(false);
  });

  test("an API Gateway event has the time and the client of the request", () => {
    expect(httpEvent(request({ method: "PUT" }))).toMatchObject({
      version: "2.0",
      routeKey: "$default",
      requestContext: {
        http: { method: "PUT", protocol: "HTTP/1.1", sourceIp: "127.0.0.1" },
        stage: "$default",
        time: "21/Nov/2026:08:00:00 +0000",
        timeEpoch: 1_795_248_000_123,
      },
    });
  });
});

describe("an API Gateway answer", () => {
  test("an API Gateway answer has the function's status, headers and body", () => {
    const answer = httpAnswer({ statusCode: 201, headers: { ETag: '"1"' }, body: "made", cookies: ["a=1"] });
    expect(answer).toMatchObject({ status: 201, headers: { etag: '"1"', "set-cookie": ["a=1"] } });
    expect(answer.body.toString()).toBe("made");
  });

  test("an API Gateway answer decodes a body in base64", () => {
    expect(httpAnswer({ statusCode: 200, body: "AP8=", isBase64Encoded: true }).body).toEqual(
      Buffer.from([0, 255]),
    );
  });

  test("an API Gateway answer is 200 with JSON for a result without a status", () => {
    expect(httpAnswer({ n: 1 })).toMatchObject({ status: 200, body: Buffer.from('{"n":1}') });
  });

  test("an API Gateway answer is 500 for an invalid status, and for a body that is too large for Lambda", () => {
    expect(httpAnswer({ statusCode: "200" }).status).toBe(500);
    expect(httpAnswer({ statusCode: 99 }).status).toBe(500);
    expect(httpAnswer({ statusCode: 200, body: "x".repeat(6 * 1024 * 1024 + 1) }).status).toBe(500);
  });
});
