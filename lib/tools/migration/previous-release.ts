/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "cddb35e654ca72eeecd14e2115804184b56967b5",
  lastMigration: 29,
  migrationsDigest: "1ac6bd7ecaedb1e7e5cfdb4e7c2f8024ffe96eab246eb81e4d78efdc932ba0d4",
} as const;
