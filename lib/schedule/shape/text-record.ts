import * as z from "zod";

/** Zod drops a member of this name silently. */
const unkept = "__proto__";

/** Texts by names that follow a rule. A name that cannot be stored is refused. */
export function textRecord(names: z.ZodString, texts: z.ZodString) {
  const record = z.record(names, texts);
  return z.preprocess((given: z.input<typeof record>, context) => {
    if (typeof given === "object" && given !== null && Object.hasOwn(given, unkept))
      context.addIssue({ code: "custom", path: [unkept], message: "is not a name that can be stored" });
    return given;
  }, record);
}
