import { readdirSync, rmSync } from "node:fs";
import path from "node:path";

/** What the kernel takes as a socket's path, with room for its name. */
const folderLengthMax = 80;

/** The server's socket lies in its cluster's folder, which nobody else may enter. */
export function hasSocket(clusterDir: string): boolean {
  return Buffer.byteLength(clusterDir) <= folderLengthMax;
}

/** What servers have left behind that were killed: each run has another port, by which it is named. */
export function removeSockets(clusterDir: string): void {
  for (const name of readdirSync(clusterDir))
    if (name.startsWith(".s.PGSQL.")) rmSync(path.join(clusterDir, name), { force: true });
}
