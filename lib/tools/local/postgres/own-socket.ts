import { readdirSync, rmSync } from "node:fs";
import path from "node:path";

/** The kernel's limit for a socket's path, minus the socket's name. */
const folderLengthMax = 80;

/** The server's socket is in its cluster's folder, which other users cannot enter. */
export function hasSocket(clusterDir: string): boolean {
  return Buffer.byteLength(clusterDir) <= folderLengthMax;
}

/**
 * Removes the sockets of killed servers. Each run has another port, and the socket is named by the
 * port.
 */
export function removeSockets(clusterDir: string): void {
  for (const name of readdirSync(clusterDir))
    if (name.startsWith(".s.PGSQL.")) rmSync(path.join(clusterDir, name), { force: true });
}
