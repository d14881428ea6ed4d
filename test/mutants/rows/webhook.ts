import type { Mutant } from "../mutant.ts";

const headers = "lib/webhook/webhook-headers.ts";
const address = "lib/webhook/address.ts";
const reach = "lib/webhook/public-address.ts";

/** The addresses that webhooks may reach, and the headers that a caller may set. */
export const webhooks: readonly Mutant[] = [
  {
    name: "a caller cannot set proxy-authorization",
    file: headers,
    text: '  "proxy-authorization",\n',
    replacement: "",
    tests: ["test/webhook/webhook-headers.test.ts"],
  },
  {
    name: "a caller cannot set a header of the signature",
    file: headers,
    text: 'reserved.has(lower) || lower.startsWith("webhook-")',
    replacement: "reserved.has(lower)",
    tests: ["test/webhook/webhook-headers.test.ts"],
  },
  {
    name: "reserved headers are recognised in every spelling",
    file: headers,
    text: "const lower = name.toLowerCase();",
    replacement: "const lower = name;",
    tests: ["test/webhook/webhook-headers.test.ts"],
  },
  {
    name: "the address within a NAT64 address is checked too",
    file: reach,
    text: "within(nat64, address) ? [address, embeddedIpv4(address)] : [address]",
    replacement: "within(nat64, address) ? [address] : [address]",
    tests: ["test/webhook/address.test.ts"],
  },
  {
    name: "addresses that a deployment denies are refused although public",
    file: reach,
    text: "if (reached.some((each) => denied.some((one) => within(one, each))))",
    replacement: "if (false)",
    tests: ["test/webhook/address.test.ts", "test/webhook/webhook-function.test.ts"],
  },
  {
    name: "the metadata service is not reached",
    file: reach,
    text: '  "169.254.0.0/16": "a link-local address",\n',
    replacement: "",
    tests: ["test/webhook/address.test.ts"],
  },
  {
    name: "a tunnel's address is refused whatever address it contains",
    file: reach,
    text: '  "2002::/16": "a tunnel\'s address",\n',
    replacement: "",
    tests: ["test/webhook/address.test.ts"],
  },
  {
    name: "an address that is not unicast is refused even when no list names it",
    file: reach,
    text: 'return unicast.some((each) => within(each, address)) ? null : "not a public address";',
    replacement: "return null;",
    tests: ["test/webhook/address.test.ts"],
  },
  {
    name: "a part of an IPv4 address has no leading zero",
    file: address,
    text: "if (!/^(0|[1-9]\\d{0,2})$/.test(part) || Number(part) > 255) return null;",
    replacement: "if (!/^\\d{1,3}$/.test(part) || Number(part) > 255) return null;",
    tests: ["test/webhook/address.test.ts", "test/webhook/address-spellings.test.ts"],
  },
  {
    name: "an IPv6 address has one double colon at most",
    file: address,
    text: "if (more !== undefined) return null;",
    replacement: "",
    tests: ["test/webhook/address.test.ts", "test/webhook/address-spellings.test.ts"],
  },
  {
    name: "a double colon stands for at least one group",
    file: address,
    text: "missing !== 0 : missing < 1",
    replacement: "missing !== 0 : missing < 0",
    tests: ["test/webhook/address.test.ts", "test/webhook/address-spellings.test.ts"],
  },
  {
    name: "a webhook connects only to the address that was checked",
    file: "lib/webhook/exchange.ts",
    text: "found(null, [...addresses]);",
    replacement: 'found(null, [{ address: "127.0.0.9", family: 4 }]);',
    tests: ["test/webhook/connection.test.ts"],
  },
  {
    name: "the certificate of a receiver is checked",
    file: "lib/webhook/exchange.ts",
    text: "rejectUnauthorized: true,",
    replacement: "rejectUnauthorized: false,",
    tests: ["test/webhook/webhook-function.test.ts"],
  },
  {
    name: "each webhook uses its own connection",
    file: "lib/webhook/exchange.ts",
    text: "agent: false,",
    replacement: "",
    tests: ["test/webhook/connection.test.ts"],
  },
  {
    name: "informational answers without end are closed",
    file: "lib/webhook/exchange.ts",
    text: "if (informational > informationalMax) reject(new InformationalOverflow());",
    replacement: "",
    tests: ["test/webhook/no-answer.test.ts"],
  },
  {
    name: "ten informational answers are allowed",
    file: "lib/webhook/exchange.ts",
    text: "informational > informationalMax",
    replacement: "informational >= informationalMax",
    tests: ["test/webhook/no-answer.test.ts"],
  },
];
