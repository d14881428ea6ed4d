import { emfMetrics } from "../log/emf.ts";
import { type Metrics, noMetrics } from "../log/metrics.ts";
import type { Environment } from "./environment.ts";

/** The form of a namespace in CloudWatch; names that begin with AWS/ are reserved. */
const namespaces = /^(?!AWS\/)[A-Za-z0-9._/#:-]{1,255}$/;

/**
 * The metrics of a function, in its log under `CARILLON_METRICS_NAMESPACE`. None if the log is not
 * JSON.
 */
export function metricsFrom(env: Environment, source: string): Metrics {
  const namespace = env["CARILLON_METRICS_NAMESPACE"] ?? "Carillon";
  if (!namespaces.test(namespace))
    throw new Error(
      `The environment variable CARILLON_METRICS_NAMESPACE is "${namespace}"; it takes letters, digits and . - _ / # : and does not begin with AWS/.`,
    );
  if ((env["CARILLON_LOG"] ?? "json") !== "json") return noMetrics;
  return emfMetrics({
    namespace,
    source,
    now: () => new Date(),
    write: (line) => {
      process.stdout.write(`${line}\n`);
    },
  });
}
