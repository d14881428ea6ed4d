import { installed, type LockedPackage, type Lockfile, type Manifest } from "./lockfile.ts";

/** A SHA-512 in base64, and no second hash beside it: npm would take the archive by either. */
const sha512 = /^sha512-[A-Za-z0-9+/]{86}==$/;
const oneVersion = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;

/**
 * The entries of a lockfile that do not fix the archive of a package. None may have an address: the
 * registry is the user's own setting, and the hash decides whether its archive is taken.
 */
export function integrityFaults(lockfile: Lockfile): string[] {
  const version =
    lockfile.lockfileVersion === 3
      ? []
      : [`lockfileVersion is ${lockfile.lockfileVersion}: it must be 3, which has one list of packages.`];
  return [
    ...version,
    ...installed(lockfile).flatMap(([place, locked]) => {
      const fault = faultOf(place, locked, lockfile);
      return fault === null ? [] : [`${place}: ${fault}`];
    }),
  ];
}

function faultOf(place: string, locked: LockedPackage, { packages }: Lockfile): string | null {
  const { resolved, integrity, link, inBundle } = locked;
  if (link) return "it is a link to a folder; only packages of the registry are allowed.";
  if (resolved !== undefined)
    return `it comes from ${resolved}; only packages of the registry are allowed, without an address (\`omit-lockfile-registry-resolved\` in .npmrc).`;
  // It is in the archive of the package around it.
  if (inBundle && integrity === undefined) return isInsideOfHashed(place, packages) ? null : notHashed;
  if (integrity === undefined) return notHashed;
  return sha512.test(integrity) ? null : `its hash is ${integrity}; only one sha512 is allowed.`;
}

const notHashed = "it has no hash; a sha512 is needed.";

function isInsideOfHashed(place: string, packages: Lockfile["packages"]): boolean {
  const around = place.slice(0, Math.max(0, place.lastIndexOf("/node_modules/")));
  const { integrity, inBundle = false } = packages[around] ?? {};
  if (integrity !== undefined) return sha512.test(integrity);
  return inBundle && isInsideOfHashed(around, packages);
}

/** Dependencies of a manifest that name no exact version: ranges, tags, addresses and folders. */
export function versionFaults(manifest: Manifest): string[] {
  const kinds = ["dependencies", "devDependencies", "optionalDependencies"] as const;
  return kinds.flatMap((kind) =>
    Object.entries(manifest[kind])
      .filter(([, wanted]) => !oneVersion.test(wanted))
      .map(
        ([name, wanted]) => `${kind}: ${name} is "${wanted}"; only an exact version is allowed, as "1.2.3".`,
      ),
  );
}
