import { describe, expect, test } from "vitest";
import { reachFrom } from "../../lib/webhook/reach.ts";
import { readWebhookUrl } from "../../lib/webhook/webhook-url.ts";

const everywhere = reachFrom({});

describe("a webhook's URL", () => {
  test.each([
    ["https://hooks.example.com/in?key=1#here", "hooks.example.com"],
    ["https://hooks.example.com:443/", "hooks.example.com"],
    ["HTTPS://Hooks.Example.COM", "hooks.example.com"],
    ["https://bücher.example/", "xn--bcher-kva.example"],
    ["https://1.1.1.1/", "1.1.1.1"],
    ["https://[2606:4700:4700::1111]/", "2606:4700:4700::1111"],
  ])("a webhook's URL may be %s", (text, host) => {
    expect(readWebhookUrl(text, everywhere)).toMatchObject({
      ok: true,
      target: { host, port: 443, allowed: false },
    });
  });

  test.each([
    ["http://hooks.example.com/", "must start with https://"],
    ["ftp://hooks.example.com/", "must start with https://"],
    ["file:///etc/passwd", "must start with https://"],
    ["hooks.example.com", "not a valid URL"],
    ["https://", "not a valid URL"],
    ["https://hooks.example.com:8443/", "may not name a port"],
    ["https://hooks.example.com:80/", "may not name a port"],
    ["https://user:password@hooks.example.com/", "user name or password"],
    ["https://user@hooks.example.com/", "user name or password"],
    ["https://1.1.1.1@127.0.0.1/", "user name or password"],
    ["https://hooks.example.com./", "without the dot at its end: hooks.example.com."],
    ["https://localhost/", "localhost is not a public name"],
    ["https://LOCALHOST/", "localhost is not a public name"],
    ["https://localhost./", "without the dot"],
    ["https://ⓛocalhost/", "localhost is not a public name"],
    ["https://a.localhost/", "not a public name"],
    ["https://printer.local/", "not a public name"],
    ["https://metadata.google.internal/", "not a public name"],
    ["https://intranet/", "not a public name"],
    ["https://127.0.0.1./", "127.0.0.1 is a loopback address"],
    ["https://0x7f.1/", "127.0.0.1 is a loopback address"],
    ["https://2130706433/", "127.0.0.1 is a loopback address"],
    ["https://017700000001/", "127.0.0.1 is a loopback address"],
    ["https://[fe80::1%25eth0]/", "not a valid URL"],
    ["https://[fe80::1%eth0]/", "not a valid URL"],
    ["https://1.1.1.1\\@127.0.0.1:22/", null],
    ["https://[::ffff:169.254.169.254]/", "is a link-local address"],
  ])("a webhook's URL may not be %s", (text, error) => {
    const read = readWebhookUrl(text, everywhere);
    // The backslash ends the host, so the host is the part before it.
    if (error === null) expect(read).toMatchObject({ ok: true, target: { host: "1.1.1.1" } });
    else expect(read).toEqual({ ok: false, error: expect.stringContaining(error) });
  });

  test("a webhook's URL has at most 2048 characters", () => {
    const start = "https://hooks.example.com/";
    expect(readWebhookUrl(start.padEnd(2_048, "a"), everywhere).ok).toBe(true);
    expect(readWebhookUrl(start.padEnd(2_049, "a"), everywhere)).toEqual({
      ok: false,
      error: "A webhook's URL has at most 2048 characters.",
    });
  });
});

describe("the list of allowed private hosts", () => {
  const listed = reachFrom({ CARILLON_WEBHOOK_ALLOW: "localhost:9000, 127.0.0.1:080,[::1]:9443,Hooks:443" });

  test.each([
    "http://localhost:9000/",
    "https://localhost:9000/",
    "http://127.0.0.1/",
    "http://0x7f.1:80/",
    "https://[0:0:0:0:0:0:0:1]:9443/",
    "https://hooks/",
  ])("the list of allowed private hosts lets %s pass", (text) => {
    expect(readWebhookUrl(text, listed)).toMatchObject({ ok: true, target: { allowed: true } });
  });

  test.each([
    "http://localhost:9001/",
    "http://localhost/",
    "https://127.0.0.1/",
    "http://127.0.0.2/",
    "https://localhost.:9000/",
    "http://user@localhost:9000/",
    "ftp://localhost:9000/",
  ])("the list of allowed private hosts does not apply to %s", (text) => {
    expect(readWebhookUrl(text, listed).ok).toBe(false);
  });

  test.each([
    "localhost",
    "localhost:",
    ":9000",
    "localhost:0",
    "localhost:65536",
    "http://localhost:9000",
    "a:1,",
    "::1:9000",
    "a b:1",
    "a/b:1",
    "999.1.1.1:80",
  ])("%j is not a list of allowed private hosts", (value) => {
    expect(() => reachFrom({ CARILLON_WEBHOOK_ALLOW: value })).toThrow("it takes host:port");
  });

  test("a list of allowed private hosts is an error in AWS, and a missing one is not", () => {
    const inLambda = { AWS_LAMBDA_FUNCTION_NAME: "carillon-webhook" };
    expect(() => reachFrom({ ...inLambda, CARILLON_WEBHOOK_ALLOW: "localhost:9000" })).toThrow(
      "may not be set in AWS",
    );
    expect(reachFrom({ ...inLambda, CARILLON_WEBHOOK_ALLOW: "" }).allowed.size).toBe(0);
  });
});

describe("the list of denied networks", () => {
  test("a denied network's addresses are refused, and an invalid list is an error", () => {
    const reach = reachFrom({ CARILLON_WEBHOOK_DENY: "1.1.0.0/16, 2606:4700::/32" });
    expect(readWebhookUrl("https://1.1.1.1/", reach)).toEqual({
      ok: false,
      error:
        "1.1.1.1 is an address that this deployment does not send webhooks to: webhooks go only to public addresses.",
    });
    expect(readWebhookUrl("https://[2606:4700::1]/", reach).ok).toBe(false);
    expect(readWebhookUrl("https://1.2.1.1/", reach).ok).toBe(true);
    for (const value of ["10.0.0.0", "10.0.0.1/8", "example.com/8", "10.0.0.0/8,"])
      expect(() => reachFrom({ CARILLON_WEBHOOK_DENY: value })).toThrow("it takes networks like");
  });
});

describe("the advice of a local stack", () => {
  test("the refusal of a private address names the option that allows it on this machine, and an allowed one is not refused", () => {
    const advised = { CARILLON_WEBHOOK_ADVICE: "carillon dev --webhooks" };
    expect(readWebhookUrl("http://localhost:3000/in", reachFrom(advised))).toEqual({
      ok: false,
      error:
        "A webhook's URL must start with https://. carillon dev --webhooks localhost:3000 allows it on this machine.",
    });
    const reach = reachFrom({ ...advised, CARILLON_WEBHOOK_ALLOW: "localhost:3000" });
    expect(readWebhookUrl("http://localhost:3000/in", reach)).toMatchObject({ ok: true });
  });
});
