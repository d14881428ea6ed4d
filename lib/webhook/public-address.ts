import { type Address, embeddedIpv4, type Network, parseAddress, parseNetwork, within } from "./address.ts";

function network(text: string): Network {
  const read = parseNetwork(text);
  if (read === null) throw new Error(`"${text}" is not a network.`);
  return read;
}

/** The networks of public servers; the rest of IPv6 has other uses or is not assigned. */
const unicast = ["::ffff:0:0/96", "2000::/3"].map(network);

/** The special-purpose addresses from IANA's registries, each with its description for users. */
const special = Object.entries({
  "0.0.0.0/8": "an address of this host",
  "10.0.0.0/8": "a private address",
  "100.64.0.0/10": "a provider's private address",
  "127.0.0.0/8": "a loopback address",
  "169.254.0.0/16": "a link-local address",
  "172.16.0.0/12": "a private address",
  "192.0.0.0/24": "a protocol's address",
  "192.0.2.0/24": "an address for examples",
  "192.88.99.0/24": "a tunnel's address",
  "192.168.0.0/16": "a private address",
  "198.18.0.0/15": "an address for measurements",
  "198.51.100.0/24": "an address for examples",
  "203.0.113.0/24": "an address for examples",
  "224.0.0.0/4": "a multicast address",
  "240.0.0.0/4": "a reserved address",
  "::/128": "an address of this host",
  "::1/128": "a loopback address",
  "fc00::/7": "a private address",
  "fe80::/10": "a link-local address",
  "ff00::/8": "a multicast address",
  // Includes Teredo. Tunnels are refused for any address that they wrap: public servers do not use
  // them, and the address at the other end is not the one that was checked.
  "2001::/23": "a protocol's or a tunnel's address",
  "2001:db8::/32": "an address for examples",
  "2002::/16": "a tunnel's address",
  "3fff::/20": "an address for examples",
}).map(([text, what]) => ({ network: network(text), what }));

/**
 * An address of this network leads to the IPv4 address in its last 32 bits. In a network with IPv6
 * only, public servers with IPv4 have such addresses.
 */
const nat64 = network("64:ff9b::/96");

/** Why this address is forbidden, worded to follow "which is"; null if it is allowed. */
export function forbids(text: string, denied: readonly Network[]): string | null {
  const address = parseAddress(text);
  if (address === null) return "not an address that can be checked";
  const reached = within(nat64, address) ? [address, embeddedIpv4(address)] : [address];
  if (reached.some((each) => denied.some((one) => within(one, each))))
    return "an address that this deployment does not send webhooks to";
  return notPublic(reached.at(-1) ?? address);
}

function notPublic(address: Address): string | null {
  const known = special.find((each) => within(each.network, address));
  if (known !== undefined) return known.what;
  return unicast.some((each) => within(each, address)) ? null : "not a public address";
}
