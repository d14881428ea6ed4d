/**
 * The release before this one. Its functions run on while the present migrations are applied, and until they are replaced. To be
 * changed with each release; the digest is that of the text of its migrations, one after the other.
 */
export const previousRelease = {
  commit: "c43e6069f4c7a0464cb660b7f93112f59a863aa8",
  lastMigration: 31,
  migrationsDigest: "0361657f109dc4b0da28b4c1232696c893df88eed40e904c57a8635df1723ee3",
} as const;
