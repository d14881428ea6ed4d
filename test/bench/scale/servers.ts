import type { Server } from "./peak.ts";

/** A database that one may rent. Its cores are taken to be as quick as those that were measured. */
export interface Rented extends Server {
  name: string;
}

const mega = 1_000_000;

function server(name: string, cores: number, walMegabytes: number, usable = 0.7): Rented {
  return { name, cores, usable, walBytesPerSecond: walMegabytes * mega };
}

/**
 * From small to large. Cores as AWS lists them; a burstable one has its baseline only (10 and 20 % of each core), for credits end. How much
 * WAL a volume takes is assumed: gp3 without and with what may be bought, and for Aurora what its storage was said to take.
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
