/** The cost of one job. */
export interface JobCost {
  /**
   * The time that one tick or worker needs for it without other load, including its wait for the
   * database.
   */
  serialMs: number;
  /** Milliseconds of a core of the database. */
  databaseMs: number;
  walBytes: number;
}

export interface Server {
  cores: number;
  /** The share of its cores for jobs; the rest is for the API, vacuum and unplanned work. */
  usable: number;
  walBytesPerSecond: number;
}

export interface Peak {
  /** The number of due jobs in each second. */
  due: readonly number[];
  fire: JobCost;
  drain: JobCost;
  server: Server;
  /** Ticks started each minute; each uses one connection at a time and one core of a function. */
  ticks: number;
  /** The limit of concurrent worker invocations, each with one core of a function. */
  workers: number;
  /** How many seconds before its due time a job may be made. */
  horizon: number;
  /** The second of each minute at which the ticks start. */
  tickAt: number;
}

export interface PeakResult {
  done: number;
  /** Jobs that were due but not done when the simulation ended. */
  left: number;
  lateness: Quantiles;
  /** The database's greatest load in a second, as a share of the usable part. */
  databaseBusy: number;
  /** The greatest number of WAL bytes in a second. */
  walPerSecond: number;
  /** The limit that delayed the last late job. */
  boundBy: "nothing" | "making" | "workers" | "database" | "wal";
}

export interface Quantiles {
  p50: number;
  p99: number;
  max: number;
}

interface Cohort {
  due: number;
  count: number;
}

/** The state of the simulation. */
interface Play {
  peak: Peak;
  toMake: Line;
  toDo: Line;
  /** The second up to which due jobs have been given to the ticks. */
  planned: number;
  finished: { late: number; count: number }[];
  databaseBusy: number;
  walPerSecond: number;
  boundBy: PeakResult["boundBy"];
}

/**
 * Simulates a peak second by second. Ticks make the jobs of the horizon in the order in which they
 * are due, and workers do those that are due and made, in the same order. Both share one database
 * in proportion to their demand.
 */
export function playPeak(peak: Peak): PeakResult {
  const play: Play = {
    peak,
    toMake: new Line(),
    toDo: new Line(),
    planned: 0,
    finished: [],
    databaseBusy: 0,
    walPerSecond: 0,
    boundBy: "nothing",
  };
  // The simulation ends a while after the last job is due; jobs that are not done by then are
  // reported.
  const until = peak.due.length + Math.max(600, peak.due.length);
  for (let second = 0; second < until && !isOver(play); second++) playSecond(play, second);
  const { toMake, toDo, finished, databaseBusy, walPerSecond, boundBy } = play;
  const lateness = quantiles(finished);
  return {
    done: finished.reduce((sum, { count }) => sum + count, 0),
    left: toMake.length + toDo.length,
    lateness,
    databaseBusy,
    walPerSecond,
    boundBy: lateness.p99 > 1 ? boundBy : "nothing",
  };
}

function isOver({ peak, planned, toMake, toDo }: Play): boolean {
  return planned >= peak.due.length && toMake.length < 0.5 && toDo.length < 0.5;
}

function playSecond(play: Play, second: number): void {
  const { peak, toMake, toDo } = play;
  if (second % 60 === peak.tickAt % 60) startTicks(play, second);
  const possible = possibleIn(peak, toMake.length, toDo.dueBy(second));
  const unmade = toMake.dueBy(second) > 0.5;
  if (unmade || toDo.dueBy(second) > possible.do + 0.5)
    play.boundBy = unmade && possible.limit === "workers" ? "making" : possible.limit;
  for (const made of toMake.take(possible.make)) toDo.add(made);
  // A second's jobs are done evenly over it.
  let before = 0;
  for (const { due, count } of toDo.takeDue(possible.do, second)) {
    const at = second + (before + count / 2) / possible.room;
    play.finished.push({ late: Math.max(0, at - due), count });
    before += count;
  }
  play.databaseBusy = Math.max(play.databaseBusy, possible.databaseBusy);
  play.walPerSecond = Math.max(
    play.walPerSecond,
    possible.make * peak.fire.walBytes + before * peak.drain.walBytes,
  );
}

function startTicks(play: Play, second: number): void {
  const { due, horizon } = play.peak;
  for (; play.planned < Math.min(due.length, second + horizon); play.planned++)
    play.toMake.add({ due: play.planned, count: due[play.planned] ?? 0 });
}

interface Possible {
  make: number;
  do: number;
  /** The number of jobs that the capacity would have allowed. */
  room: number;
  databaseBusy: number;
  limit: "workers" | "database" | "wal";
}

/**
 * The work that ticks and workers can do in one second, with these numbers of jobs to make and to
 * do.
 */
function possibleIn({ fire, drain, server, ticks, workers }: Peak, toMake: number, toDo: number): Possible {
  const makeMax = (ticks * 1_000) / fire.serialMs;
  const doMax = (workers * 1_000) / drain.serialMs;
  const make = Math.min(toMake, makeMax);
  const work = Math.min(toDo, doMax);
  const cpu = (make * fire.databaseMs + work * drain.databaseMs) / (server.cores * server.usable * 1_000);
  const wal = (make * fire.walBytes + work * drain.walBytes) / server.walBytesPerSecond;
  const over = Math.max(1, cpu, wal);
  const limit = over === 1 ? "workers" : cpu >= wal ? "database" : "wal";
  return { make: make / over, do: work / over, room: doMax / over, databaseBusy: cpu, limit };
}

/** Jobs in the order in which they are due; counts may be fractions. */
class Line {
  #cohorts: Cohort[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(cohort: Cohort): void {
    if (cohort.count <= 0) return;
    const last = this.#cohorts.at(-1);
    if (last?.due === cohort.due) last.count += cohort.count;
    else this.#cohorts.push({ ...cohort });
    this.#length += cohort.count;
  }

  dueBy(second: number): number {
    let sum = 0;
    for (const { due, count } of this.#cohorts) {
      if (due > second) break;
      sum += count;
    }
    return sum;
  }

  take(count: number): Cohort[] {
    return this.takeDue(count, Number.POSITIVE_INFINITY);
  }

  takeDue(count: number, by: number): Cohort[] {
    const taken: Cohort[] = [];
    let rest = count;
    for (
      let first = this.#cohorts[0];
      first !== undefined && first.due <= by && rest > 0;
      first = this.#cohorts[0]
    ) {
      const part = Math.min(first.count, rest);
      taken.push({ due: first.due, count: part });
      rest -= part;
      this.#length -= part;
      first.count -= part;
      if (first.count <= 1e-9) this.#cohorts.shift();
    }
    return taken;
  }
}

function quantiles(finished: readonly { late: number; count: number }[]): Quantiles {
  const sorted = finished.toSorted((a, b) => a.late - b.late);
  const all = sorted.reduce((sum, { count }) => sum + count, 0);
  const at = (share: number) => {
    let sum = 0;
    for (const { late, count } of sorted) {
      sum += count;
      if (sum >= all * share - 1e-9) return late;
    }
    return 0;
  };
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
