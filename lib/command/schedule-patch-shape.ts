import * as z from "zod";
import { parseWhen } from "../cadence/when/parse-when.ts";
import { keyShape } from "../schedule/shape/schedule-key.ts";
import { notUnderstood, scheduleShape } from "../schedule/shape/schedule-shape.ts";
import { shapeFaults } from "../schedule/shape/shape-faults.ts";
import { contradictions, whenFaultText, whenShape } from "../schedule/shape/timing-shape.ts";

/** Fields that a patch cannot take away. */
const required = new Set(["when", "target"]);

/** Read in UTC, which leaves out no time of day: what is wrong there is wrong in every zone. */
const readableWhen = whenShape.superRefine((when, context) => {
  const parsed = parseWhen(when, { timezone: "UTC", now: 0, key: "" });
  if (parsed.ok || parsed.kind !== "invalid") return;
  const path = parsed.index === undefined ? [] : [parsed.index];
  context.addIssue({ code: "custom", path, message: whenFaultText(parsed) });
});

/**
 * A merge patch as a caller sends it. It refuses what no schedule could take: unknown members, and
 * values that are wrong whatever they are merged with. The merged schedule is checked later.
 */
export const schedulePatchShape = z
  .strictObject({
    key: keyShape.optional(),
    ...Object.fromEntries(
      Object.entries(scheduleShape.shape).map(([name, shape]) => [name, fieldPatch(name, shape)]),
    ),
  })
  .meta({ id: "SchedulePatch", description: "A merge patch (RFC 7396) of a schedule." });

/** The patch of many schedules, whose keys stay as they are. */
export const manyPatchShape = schedulePatchShape
  .omit({ key: true })
  .superRefine(({ startsAt, endsAt, spread, slot }, context) => {
    const named = { startsAt: text(startsAt), endsAt: text(endsAt), spread: text(spread), slot: text(slot) };
    for (const { path, message } of contradictions(named))
      context.addIssue({ code: "custom", path: [path], message });
  })
  .meta({ id: "ManyPatch" });

/** Refuses what is wrong in a patch, whatever it is merged with. */
export function refusePatchShape(patch: unknown): void {
  const shaped = schedulePatchShape.safeParse(patch, { reportInput: true });
  if (!shaped.success) throw notUnderstood(shapeFaults(shaped.error));
}

const text = (value: unknown) => (typeof value === "string" ? value : null);

function fieldPatch(name: string, shape: z.core.$ZodType): z.ZodType {
  const whole =
    name === "when" ? readableWhen : name === "payload" ? withoutDefault(shape) : memberwise(shape);
  const patch = required.has(name) ? z.optional(whole) : z.nullish(whole);
  const { description } = z.globalRegistry.get(shape) ?? {};
  return description === undefined ? patch : patch.describe(description);
}

/** A patch merges objects member by member; any other value replaces the stored one. */
function memberwise(shape: z.core.$ZodType): z.core.$ZodType {
  const members = membersOf(shape);
  if (members !== null)
    return z.strictObject(
      Object.fromEntries(
        Object.entries(members).map(([name, member]) => [name, z.nullish(memberwise(member))]),
      ),
    );
  const inner = unwrapped(shape);
  if (inner instanceof z.ZodRecord) return z.record(inner.keyType, z.nullish(inner.valueType));
  return withoutDefault(shape);
}

/** The members of an object, or of all forms of it together. */
function membersOf(shape: z.core.$ZodType): Record<string, z.core.$ZodType> | null {
  const inner = unwrapped(shape);
  if (inner instanceof z.ZodObject) return inner.shape;
  if (!(inner instanceof z.ZodUnion)) return null;
  const forms = inner.options.map(membersOf);
  return forms.includes(null) ? null : Object.assign({}, ...forms);
}

function unwrapped(shape: z.core.$ZodType): z.core.$ZodType {
  if (shape instanceof z.ZodPipe) return unwrapped(shape.in instanceof z.ZodTransform ? shape.out : shape.in);
  const isWrapper =
    shape instanceof z.ZodDefault ||
    shape instanceof z.ZodPrefault ||
    shape instanceof z.ZodOptional ||
    shape instanceof z.ZodNullable;
  return isWrapper ? unwrapped(shape.unwrap()) : shape;
}

/** A field that a patch leaves out stays as it is, so it has no default. */
function withoutDefault(shape: z.core.$ZodType): z.core.$ZodType {
  if (shape instanceof z.ZodPipe) {
    const given = withoutDefault(shape.in);
    return given === shape.in ? shape : z.pipe(given, shape.out);
  }
  return shape instanceof z.ZodDefault || shape instanceof z.ZodPrefault
    ? withoutDefault(shape.unwrap())
    : shape;
}
