import { z } from "zod";

/** Functions are told such lists by their environment, for all of which Lambda has room for 4 KB. */
const listCharactersMax = 900;

// What comes from the command line is text; what comes from cdk.json is what JSON says.

export function wholeNumber(min: number, max: number) {
  const takes = `it takes a whole number from ${min} to ${max}`;
  return z.coerce.number(takes).int(takes).min(min, takes).max(max, takes);
}

export function yesOrNo() {
  return z
    .union([z.boolean(), z.enum(["true", "false"])], "it takes true or false")
    .transform((value) => value === true || value === "true");
}

export function textList(item: z.ZodType<string, string>, wayOut: string, itemsMax = listCharactersMax) {
  return z
    .union([z.array(z.string()), z.string().transform((text) => text.split(",").map((one) => one.trim()))])
    .pipe(
      z
        .array(item)
        .max(itemsMax, `it takes at most ${itemsMax}; ${wayOut}`)
        .refine(
          (list) => list.join(",").length <= listCharactersMax,
          `it takes at most ${listCharactersMax} characters; ${wayOut}`,
        ),
    )
    .default([]);
}
