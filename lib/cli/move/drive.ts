/**
 * Drives a move: it freezes schedules of the source, takes them, and brings them to the destination.
 * It keeps nothing: whatever it has not done when it ends, the next run finds at the source.
 */
export interface Source {
  freeze(asked: { after: string; limit: number }): Promise<{
    ids: readonly string[];
    stuck: readonly Stuck[];
    next: string | null;
  }>;
  take(schedules: readonly string[]): Promise<{ taken: number; stuck: readonly Stuck[] }>;
  parts(): Promise<readonly Part[]>;
  confirm(parts: readonly PartName[]): Promise<unknown>;
  takeBack(schedule: string): Promise<unknown>;
  close(): Promise<unknown>;
  end(asked: { abandon: boolean }): Promise<unknown>;
}

export interface Destination {
  bring(parts: readonly Part[]): Promise<readonly Brought[]>;
  refuse(schedule: string): Promise<boolean>;
  end(): Promise<unknown>;
}

export interface PartName {
  id: string;
  part: number;
}

/** A document of the source, which only the destination reads. */
export interface Part extends PartName {
  schedule: { key: string } | null;
}

export interface Brought extends PartName {
  became: "arrived" | "here" | "refused" | "impossible";
  refusal?: string | undefined;
}

export interface Stuck {
  /** Missing for a schedule that the destination has refused: at the source it has a new number. */
  id?: string | undefined;
  key: string;
  why: string;
  detail?: string | undefined;
}

export interface Driven {
  moved: number;
  /** Schedules that stay at the source, by key. */
  left: Map<string, Stuck>;
}

export interface DriveOptions {
  /** Schedules that are frozen together: the others run meanwhile. */
  page: number;
  /** How long the driver waits for jobs that are under way. */
  waitMs: number;
  sleep: (ms: number) => Promise<void>;
  now: () => number;
  report: (driven: Driven) => void;
}

/** Waits that pass by themselves. */
const passing: ReadonlySet<string> = new Set(["running", "unfrozen"]);
const pauseMs = 1_000;

/** Moves all schedules that can be moved, and returns the others. The prefix stays open for new schedules. */
export async function drive(
  source: Source,
  destination: Destination,
  options: DriveOptions,
): Promise<Driven> {
  const driven: Driven = { moved: 0, left: new Map() };
  const until = options.now() + options.waitMs;
  await carry(source, destination, driven, options);
  for (;;) {
    const passed = await pass(source, destination, driven, options);
    const waits = [...driven.left.values()].some(({ why }) => passing.has(why));
    if (!waits && passed <= 0) return driven;
    if (waits && options.now() >= until) return driven;
    if (waits) await options.sleep(pauseMs);
  }
}

/** One pass over all keys. Returns how many schedules were taken, except those that come back each time. */
async function pass(
  source: Source,
  destination: Destination,
  driven: Driven,
  options: DriveOptions,
): Promise<number> {
  const { page, report } = options;
  let taken = 0;
  const refused = new Map([...driven.left].filter(([, { why }]) => why === "refused by the destination"));
  driven.left.clear();
  for (const [key, stuck] of refused) driven.left.set(key, stuck);
  // Schedules that are frozen and had a job under way: with each page, since they are late meanwhile.
  let waiting = new Map<string, Stuck>();
  for (let after: string | null = ""; after !== null; ) {
    const frozen = await source.freeze({ after, limit: page });
    for (const stuck of frozen.stuck) driven.left.set(stuck.key, stuck);
    const ids = [...new Set([...waiting.keys(), ...frozen.ids])];
    for (const { key } of waiting.values()) driven.left.delete(key);
    const done = ids.length === 0 ? { taken: 0, stuck: [] } : await source.take(ids);
    for (const stuck of done.stuck) driven.left.set(stuck.key, stuck);
    waiting = runningOf(done.stuck);
    taken += done.taken;
    await carry(source, destination, driven, options);
    report(driven);
    after = frozen.next;
  }
  return taken - refused.size;
}

function runningOf(stuck: readonly Stuck[]): Map<string, Stuck> {
  return new Map(
    stuck.flatMap((each) => (each.why === "running" && each.id !== undefined ? [[each.id, each]] : [])),
  );
}

/** Attempts to bring parts without any progress, a second apart. */
const fruitlessMax = 30;

/** Brings what was taken, until the destination has confirmed all of it. */
async function carry(
  source: Source,
  destination: Destination,
  driven: Driven,
  { sleep }: Pick<DriveOptions, "sleep">,
): Promise<void> {
  for (let fruitless = 0; ; fruitless++) {
    const parts = await source.parts();
    if (parts.length === 0) return;
    if (fruitless === fruitlessMax)
      throw new Error(
        `The destination has not taken in the schedule ${parts[0]?.id ?? ""} in ${fruitlessMax} attempts.`,
      );
    if (fruitless > 0) await sleep(pauseMs);
    const brought = await destination.bring(parts);
    const here = brought.filter(({ became }) => became === "arrived" || became === "here");
    if (here.length > 0) await source.confirm(here.map(({ id, part }) => ({ id, part })));
    driven.moved += here.filter(({ part }) => part === 0).length;
    const back = await giveBack(source, destination, { parts, brought, driven });
    if (here.length + back > 0) fruitless = -1;
  }
}

/** Gives the schedules back that the destination cannot have. Returns their number. */
async function giveBack(
  source: Source,
  destination: Destination,
  { parts, brought, driven }: { parts: readonly Part[]; brought: readonly Brought[]; driven: Driven },
): Promise<number> {
  let back = 0;
  for (const { id, part, became, refusal } of brought) {
    if (part > 0 || became === "arrived" || became === "here") continue;
    // Once the destination has noted that, the schedule may run at the source again.
    if (became !== "refused" && !(await destination.refuse(id))) continue;
    await source.takeBack(id);
    back += 1;
    const key = parts.find((each) => each.id === id)?.schedule?.key ?? id;
    driven.left.set(key, { key, why: "refused by the destination", detail: refusal });
  }
  return back;
}
