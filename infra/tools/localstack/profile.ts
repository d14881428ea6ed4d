import type { Settings } from "../../settings.ts";

/**
 * The Postgres of docker-compose.yaml, as the functions' containers reach it. Its password protects
 * nothing: it is for one machine.
 */
export const neighbourUrl = "postgres://carillon:local-only@postgres:5432/carillon";

/**
 * The server's max_connections: Postgres's own default, which the connection budget is checked
 * against.
 */
export const neighbourMaxConnections = 100;

/** A Postgres beside the emulator, and the secret in the emulator with the owner's login. */
export interface Neighbour {
  /** Contains the owner's name and password. */
  readonly url: string;
  readonly secretArn: string;
}

/**
 * The settings that leave out what LocalStack's free tier lacks: RDS, HTTP APIs and a working VPC.
 * Everything else is deployed as in AWS.
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
