import { readFileSync, statSync } from "node:fs";

/** The operating-system account that runs a server: Postgres refuses to run as root. */
export interface Account {
  uid: number;
  gid: number;
}

const fallback: Account = { uid: 65534, gid: 65534 };

/**
 * Undefined when this process is not root: the server then runs under the same account. As root it
 * is the owner of an existing cluster, so that root and a user can share a checkout; for a new
 * cluster it is the account `nobody`.
 */
export function serverAccount(clusterDir: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(clusterDir, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return accountNamed("nobody") ?? fallback;
}

/** initdb needs an account with a name, so the numbers are looked up by name. */
function accountNamed(name: string): Account | undefined {
  try {
    const line = readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .find((entry) => entry.startsWith(`${name}:`));
    const [, , uid, gid] = line?.split(":") ?? [];
    return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
  } catch {
    return undefined;
  }
}
