/**
 * The previous release. Its functions keep running while the present migrations are applied, until
 * the deployment replaces them. Update it with each release. The digest is of the text of its
 * migrations, one after the other.
 */
export const previousRelease = {
  commit: "ca3b94996ace47141b8cb3c70d1c25a4cf900bca",
  lastMigration: 29,
  migrationsDigest: "8ac73d4908a30e2639bb26bf73925954da2a5fbe9e863750283b3645871b334c",
} as const;
