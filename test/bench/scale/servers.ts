import type { Server } from "./peak.ts";

/** A rented database. Its cores are assumed to be as quick as the measured ones. */
export interface Rented extends Server {
  name: string;
}

const mega = 1_000_000;

function server(name: string, cores: number, walMegabytes: number, usable = 0.7): Rented {
  return { name, cores, usable, walBytesPerSecond: walMegabytes * mega };
}

/**
 * From small to large. Cores as AWS lists them; a burstable class counts with its baseline only (10
 * and 20 % of each core), because more is billed. The volumes' WAL rates are assumed: gp3 without
 * and with purchased throughput, and for Aurora the published rate of its storage.
 */
export const servers: readonly Rented[] = [
  server("db.t4g.micro", 2, 60, 0.1),
  server("db.t4g.medium", 2, 60, 0.2),
  server("db.r8g.large", 2, 120),
  server("db.r8g.xlarge", 4, 120),
  server("db.r8g.2xlarge", 8, 250),
  server("db.r8g.4xlarge", 16, 500),
  server("db.r8g.8xlarge", 32, 500),
  server("db.r8g.16xlarge", 64, 500),
  server("db.r8g.48xlarge", 192, 1_000),
];
