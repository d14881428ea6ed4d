import type { JobHandler } from "../../../job/define-job.ts";

interface Run {
  handler: string;
  keys: readonly string[];
}

/** The most runs, and the most keys of a run, that a text names. */
const namedMax = 5;

/** The handlers that run in this process, by name and with the keys of their jobs. */
export class RunningHandlers {
  readonly #runs = new Set<Run>();
  #changed: (text: string) => void = () => {};

  /** The same handlers; their runs are counted. */
  counted(handlers: readonly JobHandler[]): JobHandler[] {
    return handlers.map((handler) => ({
      ...handler,
      run: async (jobs, context) => {
        const run = { handler: handler.name, keys: jobs.map(({ key }) => key) };
        this.#runs.add(run);
        this.#changed(this.text());
        try {
          return await handler.run(jobs, context);
        } finally {
          this.#runs.delete(run);
          this.#changed(this.text());
        }
      },
    }));
  }

  /** `report (job of nightly)`; empty while no handler runs. */
  text(): string {
    const runs = [...this.#runs].slice(0, namedMax + 1);
    return listed(runs.map(({ handler, keys }) => `${handler} (${ofKeys(keys)})`));
  }

  /** Calls this with the text each time that it changes, before the code of a handler runs. */
  onChange(changed: (text: string) => void): void {
    this.#changed = changed;
  }
}

const ofKeys = (keys: readonly string[]) => `${keys.length === 1 ? "job" : "jobs"} of ${listed(keys)}`;

function listed(texts: readonly string[]): string {
  const named = texts.slice(0, namedMax).join(", ");
  return texts.length <= namedMax ? named : `${named} and others`;
}
