import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { signatures } from "../../lib/webhook/signature.ts";
import { isReservedHeader, webhookHeaders } from "../../lib/webhook/webhook-headers.ts";
import type { WebhookRequest } from "../../lib/webhook/webhook-request.ts";

/** The test vector of the libraries of Standard Webhooks. */
const published = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestamp: 1_614_265_330,
  body: Buffer.from('{"test": 2432232314}'),
  signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};

describe("a signature", () => {
  test("a signature equals the one that Standard Webhooks publish, with and without the prefix of the secret", () => {
    expect(signatures([published.secret], published)).toBe(published.signature);
    expect(signatures([published.secret.slice("whsec_".length)], published)).toBe(published.signature);
  });

  test("a signature is made with each secret while they are rotated", () => {
    const key = Buffer.alloc(32, 7);
    const other = createHmac("sha256", key)
      .update(`${published.id}.${published.timestamp}.{"test": 2432232314}`)
      .digest("base64");
    expect(signatures([`whsec_${key.toString("base64")}`, published.secret], published)).toBe(
      `v1,${other} ${published.signature}`,
    );
  });
});

const asked: WebhookRequest = {
  id: published.id,
  url: "https://hooks.example.com/",
  method: "POST",
  headers: {},
  body: "{}",
  secrets: [published.secret],
  timeoutMs: 1_000,
};
const sent = (headers: Record<string, string>, secrets = asked.secrets) =>
  webhookHeaders(
    { ...asked, headers, secrets },
    { host: "hooks.example.com", now: new Date(published.timestamp * 1_000 + 999), body: published.body },
  );

describe("the headers", () => {
  test("the headers name the sender, the type, the time and the signature", () => {
    expect(sent({ "X-Team": "blue" })).toEqual({
      "content-type": "application/cloudevents+json",
      "x-team": "blue",
      host: "hooks.example.com",
      "content-length": "20",
      "accept-encoding": "identity",
      "user-agent": expect.stringMatching(/^Carillon\/\d+\.\d+\.\d+$/),
      "webhook-id": published.id,
      "webhook-timestamp": String(published.timestamp),
      "webhook-signature": published.signature,
    });
  });

  test("a target cannot set the headers that Carillon itself sends", () => {
    const own = sent({});
    const names = [
      ...[
        "Host",
        "Content-Length",
        "Connection",
        "Transfer-Encoding",
        "Expect",
        "Upgrade",
        "User-Agent",
        "TE",
        // With this header a caller could log in at a proxy in between.
        "Proxy-Authorization",
        "Proxy-Connection",
        "Keep-Alive",
        "Trailer",
        "Accept-Encoding",
        "Content-Encoding",
        "HTTP2-Settings",
      ],
      ...["Webhook-Id", "webhook-timestamp", "WEBHOOK-SIGNATURE", "webhook-anything"],
    ];
    expect(names.filter((name) => !isReservedHeader(name))).toEqual([]);
    expect(sent(Object.fromEntries(names.map((name) => [name, "theirs"])))).toEqual(own);
    expect(isReservedHeader("Authorization")).toBe(false);
  });

  test("the target's content type replaces the default, in any spelling", () => {
    expect(sent({ "Content-Type": "application/json" })["content-type"]).toBe("application/json");
  });

  test("without a secret there is no signature header", () => {
    expect(sent({}, [])).not.toHaveProperty("webhook-signature");
  });
});
