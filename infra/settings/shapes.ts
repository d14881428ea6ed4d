import { Token } from "aws-cdk-lib";
import { z } from "zod";

/** Functions are told such lists by their environment, for all of which Lambda has room for 4 KB. */
const listCharactersMax = 900;
/** In the place of a token, of which nobody knows how long it becomes: about as much as the ARN of a queue has at most. */
const anyToken = "-".repeat(125);

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

/** What a resource is known by: text of this form, or a token of the CDK for it, whose text nobody knows before it is deployed. */
export function textOrToken(form: RegExp | z.ZodType<string, string>, takes: string) {
  const fits = (text: string) => (form instanceof RegExp ? form.test(text) : form.safeParse(text).success);
  return z.string().refine((text) => Token.isUnresolved(text) || fits(text), takes);
}

/** How many characters a list takes in a variable, with what its tokens may become. */
export function charactersOf(list: readonly string[]): number {
  return list.map((text) => (Token.isUnresolved(text) ? anyToken : text)).join(",").length;
}

export function textList(item: z.ZodType<string, string>, wayOut: string, itemsMax = listCharactersMax) {
  return z
    .union([z.array(z.string()), z.string().transform((text) => text.split(",").map((one) => one.trim()))])
    .pipe(
      z
        .array(item)
        .max(itemsMax, `it takes at most ${itemsMax}; ${wayOut}`)
        .refine(
          (list) => charactersOf(list) <= listCharactersMax,
          `it takes at most ${listCharactersMax} characters; ${wayOut}`,
        ),
    )
    .default([]);
}
