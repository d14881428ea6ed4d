/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "01499696ca2e02a5021ae7bee6654b86e5d34f50",
  lastMigration: 29,
  migrationsDigest: "51cca73532900271027837285e96b52e1c91981c4079446cb69d8a790c421047",
} as const;
