import { BlockList } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAddress } from "../../lib/webhook/address.ts";
import { forbids } from "../../lib/webhook/public-address.ts";
import { readWebhookUrl } from "../../lib/webhook/webhook-url.ts";

const notPublic = new BlockList();
for (const [address, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 3],
] as const)
  notPublic.addSubnet(address, bits);

const privateBytes = fc
  .tuple(
    fc.constantFrom(0, 10, 100, 127, 169, 172, 192, 198, 224, 240, 255),
    fc.oneof(fc.constantFrom(0, 16, 18, 64, 168, 254), fc.nat(255)),
    fc.oneof(fc.constant(0), fc.nat(255)),
    fc.nat(255),
  )
  .filter((bytes) => notPublic.check(bytes.join(".")));

/** One part of an IPv4 address in every form that `inet_aton`, and so a URL, reads. */
const spelledNumber = (value: number) =>
  fc.constantFrom(
    String(value),
    `0x${value.toString(16)}`,
    `0X${value.toString(16).toUpperCase()}`,
    `0${value.toString(8)}`,
    `000${value.toString(8)}`,
  );

const spelledIpv4 = ([a, b, c, d]: readonly [number, number, number, number]) =>
  fc
    .oneof(
      fc.tuple(spelledNumber(a), spelledNumber(b), spelledNumber(c), spelledNumber(d)),
      fc.tuple(spelledNumber(a), spelledNumber(b), spelledNumber(c * 256 + d)),
      fc.tuple(spelledNumber(a), spelledNumber((b * 256 + c) * 256 + d)),
      fc.tuple(spelledNumber(((a * 256 + b) * 256 + c) * 256 + d)),
    )
    .chain((parts) => {
      const text = parts.join(".");
      const wide = text.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
      const escaped = text.replace(/\d/g, (digit) => `%3${digit}`);
      return fc.constantFrom(text, `${text}.`, wide, escaped, text.replaceAll(".", "。"));
    });

const spelledIpv6 = ([a, b, c, d]: readonly [number, number, number, number]) => {
  const group = (high: number, low: number) => (high * 256 + low).toString(16);
  const groups = `${group(a, b)}:${group(c, d)}`;
  const turned = `${group(255 - a, 255 - b)}:${group(255 - c, 255 - d)}`;
  const dotted = `${a}.${b}.${c}.${d}`;
  return fc.constantFrom(
    ...[`::ffff:${groups}`, `::ffff:${dotted}`, `0:0:0:0:0:ffff:${groups}`, `0000::0000:FFFF:${dotted}`],
    ...[`::${groups}`, `::${dotted}`, `::ffff:0:${dotted}`],
    ...[`64:ff9b::${groups}`, `64:ff9b::${dotted}`, `64:ff9b:1::${dotted}`],
    ...[`2002:${groups}::`, `2002:${groups}:1:2:3:4:5`],
    ...[`2001:0:${groups}::1`, `2001::1:2:3:${turned}`],
  );
};

describe("spellings of private addresses", () => {
  test("every spelling of a private address in a URL is refused", () => {
    const spelled = privateBytes.chain((bytes) =>
      fc.oneof(
        spelledIpv4(bytes),
        spelledIpv6(bytes).map((text) => `[${text}]`),
      ),
    );
    fc.assert(
      fc.property(spelled, (host) => {
        // If the text were no URL, the property would hold for the wrong reason.
        expect(URL.canParse(`https://${host}/`)).toBe(true);
        expect(readWebhookUrl(`https://${host}/`, { allowed: new Set(), denied: [] }).ok).toBe(false);
      }),
      { numRuns: 5_000 },
    );
  });

  test("every spelling of a private address from DNS is refused", () => {
    const spelled = privateBytes.chain((bytes) => fc.oneof(fc.constant(bytes.join(".")), spelledIpv6(bytes)));
    fc.assert(
      fc.property(spelled, (address) => {
        expect(parseAddress(address)).not.toBeNull();
        expect(forbids(address, [])).not.toBeNull();
      }),
      { numRuns: 5_000 },
    );
  });
});
