import * as z from "zod";

/** An instant as every answer writes it. */
export const instantText = z.iso
  .datetime()
  .meta({ id: "Instant", description: "An instant in UTC, to the millisecond." });
