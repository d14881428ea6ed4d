import { z } from "zod";
import { wholeNumber, yesOrNo } from "./shapes.ts";

/** The HTTP API. */
export const apiSettings = {
  /** Which kind of API stands before it: an `http` API, or a `rest` API, which costs more and takes a firewall and keys with quotas. */
  apiKind: z.enum(["http", "rest"], "it takes http or rest").default("http"),
  /** Of a REST API: whether the role is made here by which API Gateway writes logs. An account has one in each region; what was there is replaced. False: it is there already, without which the deployment stops and says so. */
  apiMakesLogRole: yesOrNo().default(false),
  /** How many requests a second the API takes on average; it answers 429 to the others. */
  apiRequestsPerSecond: wholeNumber(1, 10_000).default(50),
  /** How many requests the API takes at one instant; each of them may open a database connection. */
  apiRequestBurst: wholeNumber(1, 5_000).default(25),
};

export type ApiSettings = z.output<z.ZodObject<typeof apiSettings>>;
