/**
 * Each bucket reaches a tenth further than the one before, as in carillon.lateness_bucket, so a
 * result is off by 5 % at most.
 */
const growth = 1.1;

export interface LatenessBucket {
  bucket: number;
  jobs: number;
}

export interface Lateness {
  /** Number of jobs, each counted at its first start. */
  jobs: number;
  p50Ms: number | null;
  p95Ms: number | null;
  p99Ms: number | null;
  maxMs: number | null;
}

/** The middle of a bucket. Below one millisecond a job is on time. */
export function latenessOf(bucket: number): number {
  return bucket <= 0 ? 0 : Math.round(growth ** (bucket - 0.5));
}

export function summarize(buckets: readonly LatenessBucket[]): Lateness {
  const sorted = buckets.filter(({ jobs }) => jobs > 0).toSorted((one, other) => one.bucket - other.bucket);
  const jobs = sorted.reduce((sum, each) => sum + each.jobs, 0);
  const at = (share: number): number | null => {
    let below = 0;
    for (const each of sorted) {
      below += each.jobs;
      if (below >= share * jobs) return latenessOf(each.bucket);
    }
    return null;
  };
  return { jobs, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99), maxMs: at(1) };
}
