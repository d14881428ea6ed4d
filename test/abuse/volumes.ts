import type { Volume } from "./attack.ts";

/** At most about three minutes together. */
export const byDefault: Volume = {
  seconds: 10,
  rate: 50,
  requests: 5_000,
  guesses: 5_000,
  sockets: 500,
  bodies: 2,
  schedules: 100_000,
  holds: 500,
  actions: 100,
};

/** For the tests: each attack once, as small as it can be. */
export const shortest: Volume = {
  seconds: 1,
  rate: 5,
  requests: 300,
  guesses: 100,
  sockets: 20,
  bodies: 1,
  schedules: 20,
  holds: 20,
  actions: 10,
};
