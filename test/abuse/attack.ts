import type { Clock } from "../../lib/clock.ts";
import type { Dice } from "../race/seeded.ts";
import type { Answers } from "./answers.ts";
import type { Caller } from "./caller.ts";

/** How large the attacks are. */
export interface Volume {
  /** The length of attacks that have no count. */
  seconds: number;
  /** Units per second of the token that has a rate. */
  rate: number;
  /** Fuzzed requests. */
  requests: number;
  /** Guessed tokens. */
  guesses: number;
  /** Slow connections. */
  sockets: number;
  /** Bodies of each kind. */
  bodies: number;
  /** Schedules that run each second. */
  schedules: number;
  /** Holds in each of three loops. */
  holds: number;
  /** Bulk actions whose caller goes away. */
  actions: number;
}

/** The prefix of every key that an attack writes. */
export const ownPrefix = "abuse:";

export interface Tokens {
  /** Scope `write`, of the attacker's prefix, without a rate. */
  write: string;
  /** The same with the rate. */
  rated: string;
  /** Scope `read`, of all keys. */
  read: string;
  /** Scope `admin`, of the attacker's prefix. */
  admin: string;
  /** The first token of the stack: scope `admin`, of all keys. */
  owner: string;
}

export interface Ground {
  api: string;
  tokens: Tokens;
  caller: Caller;
  answers: Answers;
  dice: Dice;
  clock: Clock;
}

export interface Attack {
  name: string;
  /** The requests that it sends, as the help names them. */
  does: string;
  /** The rule of this attack besides those of all attacks. */
  holds: string;
  /** Resolves when all that was sent is answered or abandoned. Faults go to `answers`. */
  run(ground: Ground, volume: Volume): Promise<void>;
}
