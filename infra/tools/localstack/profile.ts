import type { Settings } from "../../settings.ts";

/** The Postgres of docker-compose.yaml, as the functions' containers reach it. Its password guards nothing: it is for one machine. */
export const neighbourUrl = "postgres://carillon:local-only@postgres:5432/carillon";

/** What the neighbour is started with: postgres's own default, to which the connection budget is held. */
export const neighbourMaxConnections = 100;

/** A Postgres that stands beside the emulator, and the secret in the emulator that lets the migration in. */
export interface Neighbour {
  /** With the owner's name and password. */
  readonly url: string;
  readonly secretArn: string;
}

/**
 * The settings that leave out what LocalStack's free tier lacks: RDS, HTTP APIs, and a network that would mean something. Everything else is
 * as it is deployed in AWS.
 */
export function localstackSettings({ url, secretArn }: Neighbour): Partial<Settings> {
  const { hostname, port, pathname } = new URL(url);
  return {
    database: "external",
    databaseHost: hostname,
    databasePort: port === "" ? 5432 : Number(port),
    databaseName: pathname.slice(1),
    databaseSecretArn: secretArn,
    databaseMaxConnections: neighbourMaxConnections,
    databaseTls: "off",
    databasePrepare: true,
    databaseProtected: false,
    functionsInVpc: false,
    apiKind: "rest",
    apiMakesLogRole: true,
  };
}
