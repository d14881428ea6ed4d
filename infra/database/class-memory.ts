import type { Settings } from "../settings.ts";

const MIB_PER_GIB = 1_024;

/** Within a family, memory doubles with each size; other families have other ratios. */
export function memoryGiB(databaseClass: string): number | undefined {
  const [, family, size, times] =
    /^([tmr])\d[a-z]*\.(micro|small|medium|large|(\d*)xlarge)$/.exec(databaseClass) ?? [];
  if (family === undefined || size === undefined) return undefined;
  const large = family === "r" ? 16 : 8;
  const parts: Record<string, number> = { micro: 1 / 8, small: 1 / 4, medium: 1 / 2, large: 1 };
  return large * (parts[size] ?? 2 * Number(times || 1));
}

/**
 * The memory of an instance that is made here. Undefined: the class is not known, or there is none: a
 * cluster changes its size, and a database that was made elsewhere has a class of its own.
 */
export function instanceMemoryMiB({
  database,
  databaseClass,
}: Pick<Settings, "database" | "databaseClass">): number | undefined {
  const memory = database === "rds" ? memoryGiB(databaseClass) : undefined;
  return memory === undefined ? undefined : memory * MIB_PER_GIB;
}
