/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "cddb35e654ca72eeecd14e2115804184b56967b5",
  lastMigration: 29,
  migrationsDigest: "da8d12c3d17fc789b632d07b5563efcc8512eb26182828307692ae81f40fbee5",
} as const;
