import { isIPv4, isIPv6 } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAddress, parseNetwork } from "../../lib/webhook/address.ts";
import { forbids } from "../../lib/webhook/public-address.ts";
import { readWebhookUrl } from "../../lib/webhook/webhook-url.ts";

const everywhere = { allowed: new Set<string>(), denied: [] };
const literal = (host: string) => readWebhookUrl(`https://${host}/`, everywhere);

const hex = "0123456789abcdefABCDEF";
const addressLike = fc.string({
  unit: fc.constantFrom(...`${hex}::::....%x `),
  minLength: 2,
  maxLength: 24,
});

describe("an address", () => {
  test.each([
    ["127.0.0.1", "::ffff:7f00:1"],
    ["::ffff:127.0.0.1", "::ffff:7f00:1"],
    ["0:0:0:0:0:FFFF:7F00:0001", "::ffff:7f00:1"],
    ["1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"],
    ["::", "0:0:0:0:0:0:0:0"],
    ["1::", "1:0:0:0:0:0:0:0"],
  ])("all spellings of an address give the same number: %s", (one, other) => {
    expect(parseAddress(one)).not.toBeNull();
    expect(parseAddress(one)).toBe(parseAddress(other));
  });

  test.each([
    "",
    " 8.8.8.8",
    "8.8.8",
    "8.8.8.8.",
    "8.8.8.256",
    "08.8.8.8",
    "0x8.8.8.8",
    "8.8.8.8/32",
    "134744072",
    "example.com",
    "fe80::1%eth0",
    "2606:4700::1%25eth0",
    "[::1]",
    ":",
    ":::",
    "1:::2",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4::5:6:7:8",
    "12345::",
    "g::",
    "1.2.3.4::",
    "::1.2.3.4:5",
    "::1.2.3",
    "-1::",
  ])("%j is not an address, and is refused", (text) => {
    expect(parseAddress(text)).toBeNull();
    expect(forbids(text, [])).toBe("not an address that can be checked");
  });

  test("the addresses are those that Node reads, with the value that a URL gives them", () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), addressLike), (text) => {
        // Node accepts a zone behind an address; an address with a zone cannot be checked.
        const isAddress = !text.includes("%") && (isIPv4(text) || isIPv6(text));
        expect(parseAddress(text) !== null).toBe(isAddress);
        if (!isAddress || isIPv4(text)) return;
        const asUrl = new URL(`https://[${text}]/`).hostname.slice(1, -1);
        expect(parseAddress(asUrl)).toBe(parseAddress(text));
      }),
      { numRuns: 2_000 },
    );
  });

  test("a network has no bits set behind its prefix", () => {
    expect(parseNetwork("10.0.0.0/8")).toEqual({ first: parseAddress("10.0.0.0"), bits: 104 });
    expect(parseNetwork("fd00::/8")).toEqual({ first: parseAddress("fd00::"), bits: 8 });
    expect(parseNetwork("0.0.0.0/0")).toEqual({ first: parseAddress("0.0.0.0"), bits: 96 });
    for (const text of [
      "10.0.0.1/8",
      "10.0.0.0",
      "10.0.0.0/33",
      "10.0.0.0/08",
      "::/129",
      "x/8",
      "/8",
      "::/8/8",
    ])
      expect(parseNetwork(text)).toBeNull();
  });
});

/**
 * Addresses that break naive checks: from reports of other projects, and addresses that an attacker
 * would want to reach.
 */
const corpus = {
  "this host": ["0.0.0.0", "0.1.2.3", "::"],
  loopback: ["127.0.0.1", "127.255.255.255", "::1"],
  "private networks": [
    "10.0.0.0",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "fc00::1",
  ],
  "the metadata of EC2, ECS and others": ["169.254.169.254", "169.254.170.2", "fd00:ec2::254", "192.0.0.192"],
  "Lambda's own daemons": ["169.254.79.129", "169.254.100.1"],
  "link-local": ["169.254.0.0", "fe80::1", "febf::1"],
  "formerly site-local": ["fec0::1"],
  "a provider's private network": ["100.64.0.0", "100.100.100.200", "100.127.255.255"],
  "protocols, examples, measurements": [
    "192.0.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "192.88.99.1",
    "2001:2::1",
    "2001:db8::1",
    "2001:10::1",
    "2001:20::1",
    "3fff::1",
    "100::1",
    "5f00::1",
  ],
  "multicast and reserved": [
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "ff02::1",
    "ff0e::1",
  ],
  "IPv4 mapped into IPv6": ["::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::ffff:0a00:1", "::ffff:0:0"],
  "IPv4 compatible to IPv6": ["::7f00:1", "::127.0.0.1", "::a9fe:a9fe", "::8.8.8.8"],
  "IPv4 translated": ["::ffff:0:127.0.0.1", "64:ff9b:1::7f00:1"],
  NAT64: ["64:ff9b::7f00:1", "64:ff9b::169.254.169.254", "64:ff9b::10.0.0.1"],
  "6to4": ["2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:c0a8:101::", "2002:808:808::"],
  // The server's address is written plainly, the client's with every bit inverted.
  Teredo: ["2001:0:7f00:1::", "2001::80ff:fffe", "2001:0:808:808:0:0:f7f7:f7f7"],
  "unassigned networks": ["4000::1", "8000::1", "fb00::1", "1::1"],
};

const publicAddresses = [
  "1.1.1.1",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.0",
  "169.253.255.255",
  "169.255.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.0.1.0",
  "192.167.255.255",
  "192.169.0.0",
  "198.17.255.255",
  "198.20.0.0",
  "223.255.255.255",
  "2001:200::1",
  "2001:4860:4860::8888",
  "2606:4700:4700::1111",
  "2a05:d014::1",
  "::ffff:8.8.8.8",
  "64:ff9b::8.8.8.8",
];

const inUrl = (address: string) => (address.includes(":") ? `[${address}]` : address);

describe("forbidden addresses of webhooks", () => {
  test.each(Object.entries(corpus))("a webhook does not go to %s", (_, addresses) => {
    const passed = addresses.filter((each) => forbids(each, []) === null || literal(inUrl(each)).ok);
    expect(passed).toEqual([]);
  });

  test("a webhook does not go to networks that the deployment denies, also through IPv6", () => {
    const denied = ["8.8.0.0/16", "2606:4700::/32", "64:ff9b::101:0/112"].map((text) => {
      const network = parseNetwork(text);
      if (network === null) throw new Error(text);
      return network;
    });
    for (const each of ["8.8.8.8", "::ffff:8.8.1.1", "64:ff9b::8.8.1.1", "64:ff9b::1.1.0.1", "2606:4700::1"])
      expect(forbids(each, denied)).toBe("an address that this deployment does not send webhooks to");
    for (const each of ["8.9.0.0", "1.1.0.1", "2606:4701::1"]) expect(forbids(each, denied)).toBeNull();
  });
});

test("a webhook goes to every public address", () => {
  const refused = publicAddresses.filter((each) => forbids(each, []) !== null || !literal(inUrl(each)).ok);
  expect(refused).toEqual([]);
});
