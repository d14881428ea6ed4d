import { readFileSync, statSync } from "node:fs";

/** The operating-system account that runs a server: Postgres refuses to run as root. */
export interface Account {
  uid: number;
  gid: number;
}

const fallback: Account = { uid: 65534, gid: 65534 };

/**
 * Nobody in particular when we are not root: the server then runs as we do. As root, the owner of an existing
 * cluster, so that a checkout used by root and by a person stays usable by both; for a new one the account `nobody`.
 */
export function serverAccount(clusterDir: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(clusterDir, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return accountNamed("nobody") ?? fallback;
}

/** initdb wants an account that has a name, so the number is looked up where the name is. */
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
