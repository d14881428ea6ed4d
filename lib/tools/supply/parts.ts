import path from "node:path";
import { installScriptFaults } from "./install-scripts.ts";
import { integrityFaults, versionFaults } from "./integrity.ts";
import { licenceFaults } from "./licences.ts";
import { readLockfile, readManifest } from "./lockfile.ts";

/** The packages of the peers in the benches. They are installed apart, and without their scripts. */
const peers = path.join("test", "bench", "peers", "npm");

export interface AuditPart {
  part: string;
  faults: string[];
}

/** The parts of the audit that need nothing but the files of the repository. */
export function lockfileParts(root: string): AuditPart[] {
  const [lockfile, manifest] = [readLockfile(root), readManifest(root)];
  const ofPeers = path.join(root, peers);
  return [
    { part: "hashes", faults: integrityFaults(lockfile) },
    { part: "exact versions", faults: versionFaults(manifest) },
    { part: "install scripts", faults: installScriptFaults(lockfile, manifest) },
    { part: "licences", faults: licenceFaults(lockfile) },
    { part: "hashes of the benches' peers", faults: integrityFaults(readLockfile(ofPeers)) },
    { part: "exact versions of the benches' peers", faults: versionFaults(readManifest(ofPeers)) },
  ];
}
