/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "ead3180299d658faa994ec063d0ae22f2eb11d54",
  lastMigration: 29,
  migrationsDigest: "a2b39ea11f9cfd42dc89f8fd82b2157fdd336fbaf000be277444671d3794742b",
} as const;
