import { wholeNumber } from "./shapes.ts";

/** The HTTP API. */
export const apiSettings = {
  /** How many requests a second the API takes on average; it answers 429 to the others. */
  apiRequestsPerSecond: wholeNumber(1, 10_000).default(50),
  /** How many requests the API takes at one instant; each of them may open a database connection. */
  apiRequestBurst: wholeNumber(1, 5_000).default(25),
};
