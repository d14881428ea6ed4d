import { yesOrNo } from "./shapes.ts";

/** The network. */
export const networkSettings = {
  /** Whether the database has a standby and the endpoints stand in two zones. Both then cost twice as much. */
  highlyAvailable: yesOrNo().default(false),
};
