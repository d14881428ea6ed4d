import { type IEngine, ParameterGroup } from "aws-cdk-lib/aws-rds";
import type { Construct } from "constructs";

/**
 * The parameter group of an instance or of a cluster. Both have one id, so that a switch of the
 * kind conflicts and fails: otherwise CloudFormation would replace a database that has data by an
 * empty cluster.
 */
export function parameterGroup(scope: Construct, engine: IEngine, maxConnections: number): ParameterGroup {
  return new ParameterGroup(scope, "Parameters", {
    engine,
    description: "Carillon: TLS only; slow statements and lock waits are logged",
    parameters: serverParameters(maxConnections),
  });
}

/**
 * Limits of the whole server. Migrations set the limits of each function's role; the autovacuum
 * settings of busy tables are set with the tables.
 */
export function serverParameters(maxConnections: number): Record<string, string> {
  return {
    // Already RDS's default for this version, but a default may change and this must not.
    "rds.force_ssl": "1",
    // RDS's own formula depends on how much memory it reserves, which is not published. The budget
    // is checked against this number.
    max_connections: String(maxConnections),
    // Each group and tag of a batch is a lock: four times the default, for about 20 MB at 200 connections.
    max_locks_per_transaction: "256",
    // Functions' transactions end after ten seconds. A forgotten transaction of an engineer would
    // otherwise block the vacuum of busy tables for a day.
    idle_in_transaction_session_timeout: "300000",
    // No statement of a function takes a second, so slower ones are logged.
    log_min_duration_statement: "1000",
    // The parameters of a statement hold payloads, headers and webhook secrets: the log has its text only.
    log_parameter_max_length: "0",
    log_parameter_max_length_on_error: "0",
    log_lock_waits: "1",
  };
}

/** The name of a database that is made here. */
export const ownDatabaseName = "carillon";
