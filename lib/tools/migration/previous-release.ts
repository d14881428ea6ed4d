/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "c82db85e4a06c7b70b56c54ebacb8d6658d4bc27",
  lastMigration: 29,
  migrationsDigest: "ca63668dc4bd51826d7d1f1302df91f7a2d308913863cea724b09a32a9ab7629",
} as const;
