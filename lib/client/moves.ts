import type { InstantText } from "./json.ts";
import type { CallOptions, Request, Send, WriteOptions } from "./request/transport.ts";

/** A move of all schedules of a prefix, out of this installation or into it. */
export interface Move {
  id: string;
  direction: "out" | "in";
  prefix: string;
  /** The address of the other installation. */
  peer: string;
  begunAt: InstantText;
  begunBy: string;
  /** Out: since when no schedule with the prefix is made here. */
  closedAt: InstantText | null;
  endedAt: InstantText | null;
}

/** A move out of this installation, and its progress. */
export interface MoveRead extends Move {
  /** Schedules that are still here, up to 10,000; those that are gone; parts that are not confirmed. */
  progress: { left: number; taken: number; unconfirmed: number };
}

/** A move into this installation, and its progress. */
export interface ArrivalRead extends Move {
  progress: { arrived: number; refused: number };
}

export interface PartName {
  id: string;
  part: number;
}

/** A part of a schedule on its way. */
export interface MovedPart extends PartName {
  /** The key of the schedule, in its first part. */
  key: string | null;
  /** JSON, which only the destination reads. */
  document: string;
}

/** A schedule that cannot be moved now. */
export interface StuckSchedule {
  id: string;
  key: string;
  why: "running" | "unfrozen" | "group" | "credentials" | "unreadable" | "jobs" | "refused";
  detail?: string;
}

/** The steps of the installation that the schedules leave. Each may be repeated. */
export type MoveStep =
  | { step: "freeze"; after: string; limit: number }
  | { step: "take"; schedules: string[] }
  | { step: "parts" }
  | { step: "confirm"; parts: PartName[] }
  | { step: "take-back"; schedule: string }
  | { step: "close" }
  | { step: "end"; abandon: boolean };

export interface MoveStepAnswers {
  freeze: { ids: string[]; stuck: StuckSchedule[]; next: string | null };
  take: { taken: number; stuck: StuckSchedule[] };
  parts: { parts: MovedPart[] };
  confirm: { confirmed: number };
  "take-back": { back: boolean };
  close: Move;
  end: Move;
}

/** The steps of the installation into which the schedules move. Each may be repeated. */
export type ArrivalStep =
  | { step: "bring"; parts: MovedPart[] }
  | { step: "refuse"; schedule: string }
  | { step: "end" };

export interface BroughtPart extends PartName {
  became: "arrived" | "here" | "refused" | "impossible";
  refusal?: string;
}

export interface ArrivalStepAnswers {
  /** Parts for which there was no time are left out: bring them again. */
  bring: { brought: BroughtPart[] };
  refuse: { refused: boolean };
  end: Move;
}

/** Moves out of this installation, and the list of all moves. `carillon move` drives them. */
export class Moves {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Begins a move, or finds the one of this prefix to this address that has not ended. */
  async begin(body: { prefix: string; to: string }, options?: WriteOptions): Promise<Move> {
    return (await this.#send<Move>({ method: "POST", path: moves, body, options })).body;
  }

  /** Also those into this installation, the newest first. */
  async list(options?: CallOptions): Promise<Move[]> {
    return (await this.#send<{ items: Move[] }>({ method: "GET", path: moves, options })).body.items;
  }

  async get(id: string, options?: CallOptions): Promise<MoveRead> {
    return (await this.#send<MoveRead>({ method: "GET", path: [...moves, id], options })).body;
  }

  async step<Step extends MoveStep>(
    id: string,
    body: Step,
    options?: CallOptions,
  ): Promise<MoveStepAnswers[Step["step"]]> {
    return stepped(this.#send, [...moves, id], body, options);
  }

  /** Deletes the record of a move that has ended: its keys are free here again. */
  async forget(id: string, options?: WriteOptions): Promise<void> {
    await this.#send({ method: "DELETE", path: [...moves, id], options });
  }
}

/** Moves into this installation. */
export class Arrivals {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Begins to take in a move that another installation has begun, with the id that it has there. */
  async begin(id: string, body: { prefix: string; from: string }, options?: WriteOptions): Promise<Move> {
    return (await this.#send<Move>({ method: "PUT", path: [...arrivals, id], body, options })).body;
  }

  async get(id: string, options?: CallOptions): Promise<ArrivalRead> {
    return (await this.#send<ArrivalRead>({ method: "GET", path: [...arrivals, id], options })).body;
  }

  async step<Step extends ArrivalStep>(
    id: string,
    body: Step,
    options?: CallOptions,
  ): Promise<ArrivalStepAnswers[Step["step"]]> {
    return stepped(this.#send, [...arrivals, id], body, options);
  }
}

const moves = ["v1", "moves"];
const arrivals = ["v1", "arrivals"];

/** A repeated step does no harm, so it needs no key under which its answer is kept. */
async function stepped<Answer>(
  send: Send,
  path: readonly string[],
  body: object,
  options?: CallOptions,
): Promise<Answer> {
  const request: Request = { method: "POST", path: [...path, "steps"], body, changes: false, options };
  return (await send<Answer>(request)).body;
}
