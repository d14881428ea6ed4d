import { createInterface } from "node:readline";

/**
 * The operations of a contender, whatever its store. The bench requests them over standard input.
 */
export interface Contender {
  /** Creates its tables in an empty database. */
  install(url: string): Promise<void>;
  /**
   * Stores jobs 0 to `count` − 1 in bulk, in the quickest documented way; due at `at`, or at once.
   */
  store(work: { url: string; count: number; at: Date | null }): Promise<void>;
  /** Starts working; each job reports its number. Resolves when the workers are ready. */
  work(url: string, ran: (job: number) => void): Promise<Working>;
  /** Whether any stored job is not stored as done. */
  isLeft(url: string): Promise<boolean>;
  /** Additional commands of one contender. */
  also?: Readonly<Record<string, (url: string) => Promise<void>>>;
}

export interface Working {
  stop(): Promise<void>;
}

const progressMs = 20;

/** The jobs that ran, how often, and the times of the first and the last. */
class Ran {
  #seen: Uint8Array;
  #runs = 0;
  #firstAt = 0;
  #lastAt = 0;

  constructor(count: number) {
    this.#seen = new Uint8Array(Math.ceil(count / 8));
  }

  /** The runs until now were warm-up. */
  forget(): void {
    this.#seen.fill(0);
    this.#runs = 0;
  }

  note(job: number): void {
    if (!Number.isInteger(job) || job < 0 || job >> 3 >= this.#seen.length)
      throw new Error(`Job ${job} was never stored.`);
    this.#seen[job >> 3] = (this.#seen[job >> 3] ?? 0) | (1 << (job & 7));
    this.#lastAt = Date.now();
    if (this.#runs === 0) this.#firstAt = this.#lastAt;
    this.#runs++;
  }

  get runs(): number {
    return this.#runs;
  }

  told() {
    return {
      runs: this.#runs,
      firstAt: this.#firstAt,
      lastAt: this.#lastAt,
      seen: Buffer.from(this.#seen).toString("base64"),
    };
  }
}

/**
 * Answers each line of standard input with one line of JSON, one after the other; in between it
 * reports how many jobs have run.
 */
export async function serve(contender: Contender): Promise<void> {
  let current: { working: Working; ran: Ran; progress: NodeJS.Timeout } | undefined;

  const acts: Record<string, (url: string, ...rest: string[]) => Promise<object>> = {
    install: async (url) => {
      await contender.install(url);
      return { installed: true };
    },
    store: async (url, count, at) => {
      const startedAt = performance.now();
      await contender.store({ url, count: Number(count), at: at === "0" ? null : new Date(Number(at)) });
      return { storedMs: performance.now() - startedAt };
    },
    work: async (url, count) => {
      const ran = new Ran(Number(count));
      const working = await contender.work(url, (job) => ran.note(job));
      let told = 0;
      const progress = setInterval(() => {
        if (ran.runs === told) return;
        told = ran.runs;
        tell({ ran: told });
      }, progressMs);
      current = { working, ran, progress };
      return { ready: true };
    },
    forget: async () => {
      current?.ran.forget();
      return { did: "forget" };
    },
    left: async (url) => ({ left: await contender.isLeft(url) }),
    stop: async () => {
      if (current === undefined) throw new Error("The worker is not running.");
      const { working, ran, progress } = current;
      current = undefined;
      clearInterval(progress);
      await working.stop();
      return { stopped: ran.told() };
    },
  };

  for await (const line of createInterface({ input: process.stdin })) {
    const [word = "", url = "", ...rest] = line.split(" ");
    try {
      const more = contender.also?.[word];
      const act = acts[word];
      if (more !== undefined) {
        await more(url);
        tell({ did: word });
      } else if (act !== undefined) tell(await act(url, ...rest));
      else throw new Error(`"${word}" is not a known command.`);
    } catch (error) {
      tell({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  }
  // The bench has ended, possibly in the middle of a run.
  process.exit();
}

function tell(answer: object): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

/** Splits 0 … count − 1 into portions and runs this many of them concurrently. */
export async function inPortions(
  { count, portion, callers }: { count: number; portion: number; callers: number },
  act: (jobs: number[]) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const call = async () => {
    while (next < count) {
      const from = next;
      next = Math.min(count, from + portion);
      await act(Array.from({ length: next - from }, (_, index) => from + index));
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
}
