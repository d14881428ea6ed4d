import { createSocket } from "node:dgram";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { resolver } from "../../lib/webhook/resolve.ts";

/**
 * A name server that knows `good.example.com`, refuses `broken`, and does not answer for names that
 * begin with `silent`.
 */

const server = createSocket("udp4");
const asked: string[] = [];
let address = "";

const typeA = 1;

/** One query: its name, its type, and all of its bytes. */
function question(message: Buffer): { name: string; type: number; bytes: Buffer } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const end = at + 5;
  return { name: labels.join("."), type: message.readUInt16BE(at + 1), bytes: message.subarray(12, end) };
}

function answer(message: Buffer, fault: number, addresses: readonly string[]): Buffer {
  const { bytes } = question(message);
  const head = Buffer.from([0, 0, 0x81, 0x80 + fault, 0, 1, 0, addresses.length, 0, 0, 0, 0]);
  message.copy(head, 0, 0, 2);
  const records = addresses.map((text) =>
    Buffer.from([0xc0, 12, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4, ...text.split(".").map(Number)]),
  );
  return Buffer.concat([head, bytes, ...records]);
}

const [noFault, serverFailed] = [0, 2];

beforeAll(async () => {
  server.on("message", (message, { port }) => {
    const { name, type } = question(message);
    asked.push(name);
    if (name.startsWith("silent")) return;
    const [fault, found] = name.startsWith("broken")
      ? [serverFailed, []]
      : [noFault, type === typeA ? ["192.0.2.7"] : []];
    server.send(answer(message, fault, found), port, "127.0.0.1");
  });
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  address = `127.0.0.1:${server.address().port}`;
});

afterAll(() => void server.close());
afterEach(() => {
  asked.length = 0;
});

const resolve = (name: string, signal: AbortSignal = new AbortController().signal) =>
  resolver({ allowed: new Set(["localhost:80"]) }, [address])(name, signal);

test("attempts at names with a silent name server do not delay the lookup of other names once they are over", async () => {
  for (let attempt = 0; attempt < 20; attempt++) {
    const over = new AbortController();
    const looking = resolve(`silent-${attempt}.example.com`, over.signal);
    await expect.poll(() => asked.length).toBeGreaterThan(0);
    asked.length = 0;
    over.abort();
    await expect(looking).rejects.toMatchObject({ code: "ECANCELLED" });
  }
  expect(await resolve("good.example.com")).toEqual(["192.0.2.7"]);
});

test("a name with addresses of one kind resolves to those", async () => {
  expect(await resolve("good.example.com")).toEqual(["192.0.2.7"]);
});

test("a name that cannot be resolved fails with the reason", async () => {
  await expect(resolve("broken.example.com")).rejects.toMatchObject({ code: "ESERVFAIL" });
});

test("a host of the local list is looked up by the system", async () => {
  expect(await resolve("localhost")).toEqual(expect.arrayContaining([expect.stringMatching(/^127\.|^::1$/)]));
  expect(asked).toEqual([]);
});
