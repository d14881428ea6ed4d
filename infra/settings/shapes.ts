import { Token } from "aws-cdk-lib";
import { z } from "zod";

/**
 * Functions receive these lists in their environment, and Lambda's limit is 4 KB for all variables.
 */
const listCharactersMax = 900;
/**
 * Stands in for a token, whose length is unknown before the deployment: about the longest ARN of a
 * queue.
 */
const anyToken = "-".repeat(125);

// Values from the command line are text; values from cdk.json are JSON.

export function wholeNumber(min: number, max: number) {
  const takes = `it takes a whole number from ${min} to ${max}`;
  return z.coerce.number(takes).int(takes).min(min, takes).max(max, takes);
}

export function yesOrNo() {
  return z
    .union([z.boolean(), z.enum(["true", "false"])], "it takes true or false")
    .transform((value) => value === true || value === "true");
}

/**
 * The identity of a resource: text of this form, or a CDK token, whose text is unknown before the
 * deployment.
 */
export function textOrToken(form: RegExp | z.ZodType<string, string>, takes: string) {
  const fits = (text: string) => (form instanceof RegExp ? form.test(text) : form.safeParse(text).success);
  return z.string().refine((text) => Token.isUnresolved(text) || fits(text), takes);
}

/** Text that the function can read: `parse` throws a sentence with the allowed form. */
export function parsedText(parse: (text: string) => unknown) {
  return z.string().superRefine((text, context) => {
    try {
      parse(text);
    } catch (error) {
      context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
    }
  });
}

/** The length of a list in a variable, with an estimate for tokens. */
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
