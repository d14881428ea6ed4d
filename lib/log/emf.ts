import {
  type Measured,
  type MetricDimensions,
  type MetricName,
  type Metrics,
  metricUnits,
} from "./metrics.ts";

export interface EmfSettings {
  namespace: string;
  /** The name of the function: the first dimension of all its metrics. */
  source: string;
  now: () => Date;
  write: (line: string) => void;
}

/**
 * The limit of CloudWatch for values of one metric in a line. If there are more, this many of them
 * are written, evenly spaced in their order.
 */
const valuesMax = 100;

/**
 * Metrics as lines of the log, in CloudWatch's Embedded Metric Format. No service is called and
 * nothing waits. Without a value there is no line.
 */
export function emfMetrics({ namespace, source, now, write }: EmfSettings): Metrics {
  return {
    write: (measured, dimensions = {}) => {
      const values = valuesOf(measured);
      if (values.length === 0) return;
      const dimensioned = { function: source, ...dimensions };
      write(JSON.stringify(emfLine({ namespace, at: now(), values, dimensions: dimensioned })));
    },
  };
}

type Value = [name: MetricName, value: number | readonly number[]];

function valuesOf(measured: Measured): Value[] {
  const names = Object.keys(metricUnits).filter((name): name is MetricName => name in measured);
  return names.flatMap((name): Value[] => {
    const value = measured[name];
    if (value === undefined) return [];
    if (typeof value === "number") return Number.isFinite(value) ? [[name, value]] : [];
    const some = evenlyAmong(value.filter(Number.isFinite));
    return some.length === 0 ? [] : [[name, some]];
  });
}

function evenlyAmong(values: readonly number[]): readonly number[] {
  if (values.length <= valuesMax) return values;
  const sorted = values.toSorted((one, other) => one - other);
  return Array.from(
    { length: valuesMax },
    (_, index) => sorted[Math.round((index * (sorted.length - 1)) / (valuesMax - 1))] ?? 0,
  );
}

interface EmfLine {
  namespace: string;
  at: Date;
  values: readonly Value[];
  dimensions: MetricDimensions & { function: string };
}

function emfLine({ namespace, at, values, dimensions }: EmfLine): Record<string, unknown> {
  return {
    _aws: {
      Timestamp: at.getTime(),
      CloudWatchMetrics: [
        {
          Namespace: namespace,
          Dimensions: [Object.keys(dimensions)],
          Metrics: values.map(([name]) => ({ Name: name, Unit: metricUnits[name] })),
        },
      ],
    },
    event: "metrics",
    ...dimensions,
    ...Object.fromEntries(values),
  };
}
