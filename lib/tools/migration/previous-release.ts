/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "c82db85e4a06c7b70b56c54ebacb8d6658d4bc27",
  lastMigration: 29,
  migrationsDigest: "da8d12c3d17fc789b632d07b5563efcc8512eb26182828307692ae81f40fbee5",
} as const;
