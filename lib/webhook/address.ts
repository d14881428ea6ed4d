/**
 * An IP address as one number of 128 bits. IPv4 is written as IPv6 maps it (`::ffff:a.b.c.d`), so
 * that every spelling of an address is the same number, and each rule is written once.
 */
export type Address = bigint;

/** The addresses that begin with the same `bits` bits. */
export interface Network {
  first: Address;
  bits: number;
}

const addressBits = 128;
const mapped = 0xffffn << 32n;

/** Null for text that is not plainly an address: no octal or shortened IPv4, no zone, no blanks. */
export function parseAddress(text: string): Address | null {
  if (text.includes(":")) return parseIpv6(text);
  const ipv4 = parseIpv4(text);
  return ipv4 === null ? null : mapped | ipv4;
}

/**
 * Reads `10.0.0.0/8` and `fd00::/8`. Null also if bits are set behind the prefix, which is probably
 * a mistake.
 */
export function parseNetwork(text: string): Network | null {
  const [, base, length] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  if (base === undefined || length === undefined) return null;
  const first = parseAddress(base);
  const bits = Number(length) + (base.includes(":") ? 0 : addressBits - 32);
  if (first === null || bits > addressBits) return null;
  return first & ((1n << BigInt(addressBits - bits)) - 1n) ? null : { first, bits };
}

export function within(network: Network, address: Address): boolean {
  return (address ^ network.first) >> BigInt(addressBits - network.bits) === 0n;
}

/** The IPv4 address in the last 32 bits, as an address of its own. */
export function embeddedIpv4(address: Address): Address {
  return mapped | BigInt.asUintN(32, address);
}

function parseIpv4(text: string): bigint | null {
  const parts = text.split(".");
  if (parts.length !== 4) return null;
  let value = 0n;
  for (const part of parts) {
    if (!/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return null;
    value = (value << 8n) | BigInt(part);
  }
  return value;
}

function parseIpv6(text: string): Address | null {
  const [head = "", tail, more] = text.split("::");
  if (more !== undefined) return null;
  const before = parseGroups(head, tail === undefined);
  const after = parseGroups(tail ?? "", true);
  if (before === null || after === null) return null;
  const missing = 8 - before.length - after.length;
  // A `::` replaces at least one group; without it all eight groups are written.
  if (tail === undefined ? missing !== 0 : missing < 1) return null;
  const zeros = Array.from({ length: missing }, () => 0n);
  return [...before, ...zeros, ...after].reduce((value, group) => (value << 16n) | group, 0n);
}

/** Groups of 16 bits; the last two of an address may be written as IPv4. */
function parseGroups(text: string, last: boolean): bigint[] | null {
  if (text === "") return [];
  const groups: bigint[] = [];
  const parts = text.split(":");
  for (const [at, part] of parts.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(BigInt(`0x${part}`));
      continue;
    }
    const ipv4 = last && at === parts.length - 1 ? parseIpv4(part) : null;
    if (ipv4 === null) return null;
    groups.push(ipv4 >> 16n, ipv4 & 0xffffn);
  }
  return groups;
}
