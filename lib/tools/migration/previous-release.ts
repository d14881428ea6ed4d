/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "01499696ca2e02a5021ae7bee6654b86e5d34f50",
  lastMigration: 29,
  migrationsDigest: "c8b1ee11e4f2c35cd0bcda980fe7462741498f07f1f6ce92ff2a73804614c60d",
} as const;
