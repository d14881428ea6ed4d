import { type IEngine, ParameterGroup } from "aws-cdk-lib/aws-rds";
import type { Construct } from "constructs";

/**
 * The group of an instance's parameters, or of a cluster's, by one id: CloudFormation makes nothing of another type by it, and so takes no
 * empty cluster for a database that has data.
 */
export function parameterGroup(scope: Construct, engine: IEngine, maxConnections: number): ParameterGroup {
  return new ParameterGroup(scope, "Parameters", {
    engine,
    description: "Carillon: TLS only; slow statements and lock waits are logged",
    parameters: serverParameters(maxConnections),
  });
}

/**
 * What the whole server has. Each function's role has limits of its own besides, from the migrations; autovacuum of the busy tables is set
 * with the tables.
 */
function serverParameters(maxConnections: number): Record<string, string> {
  return {
    // Already RDS's default for this version; a default may change, and this must not.
    "rds.force_ssl": "1",
    // RDS's own formula depends on what it keeps of the memory, which nobody outside knows: the budget is checked against this number.
    max_connections: String(maxConnections),
    // Functions' transactions end after ten seconds. A person who forgets one would keep vacuum from the busy tables for a day.
    idle_in_transaction_session_timeout: "300000",
    // No statement of a function takes a second; what does is worth a line.
    log_min_duration_statement: "1000",
    log_lock_waits: "1",
  };
}

/** What a database of our own is called on its server. */
export const ownDatabaseName = "carillon";
