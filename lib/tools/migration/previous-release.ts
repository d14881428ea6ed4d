/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "6f7d9fc54d98b515a7526d83364280d25dfb4ba4",
  lastMigration: 29,
  migrationsDigest: "a2b39ea11f9cfd42dc89f8fd82b2157fdd336fbaf000be277444671d3794742b",
} as const;
