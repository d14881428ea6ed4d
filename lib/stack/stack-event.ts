import * as z from "zod";

/** The members of an event that its answer needs. */
const addressed = z.object({
  ResponseURL: z.url(),
  StackId: z.string(),
  RequestId: z.string(),
  LogicalResourceId: z.string(),
  PhysicalResourceId: z.string().optional(),
});

export type Addressed = z.output<typeof addressed>;

const properties = z.record(z.string(), z.unknown());

/** The request of CloudFormation for one resource. */
const asked = z.discriminatedUnion("RequestType", [
  z.object({ RequestType: z.literal("Create"), ResourceProperties: properties }),
  z.object({
    RequestType: z.literal("Update"),
    ResourceProperties: properties,
    OldResourceProperties: properties.default({}),
  }),
  z.object({ RequestType: z.literal("Delete"), ResourceProperties: properties.default({}) }),
]);

export type Asked = z.output<typeof asked>;

/**
 * Reads where the answer goes. Throws where the event is not one of CloudFormation's, because then
 * no stack waits for an answer.
 */
export function readAddress(event: unknown): Addressed {
  const read = addressed.safeParse(event);
  if (read.success) return read.data;
  throw new Error(`The event is not one of CloudFormation's: ${pathsIn(read.error)} is not valid.`);
}

export function readAsked(event: unknown): Asked {
  const read = asked.safeParse(event);
  if (read.success) return read.data;
  throw new Error(`The event is not one of CloudFormation's: ${pathsIn(read.error)} is not valid.`);
}

/** Names only the fields at fault, because the values may hold secrets. */
function pathsIn(error: z.ZodError): string {
  const paths = error.issues.map(({ path }) => path.join(".") || "the whole event");
  return [...new Set(paths)].join(", ");
}

/** The name and the account in the ARN of a stack. */
export function stackOf({ StackId }: Pick<Addressed, "StackId">): { name: string; account: string } {
  const [, account, name] =
    /^arn:[\w-]+:cloudformation:[\w-]+:(\d{12}):stack\/([A-Za-z0-9-]+)\//.exec(StackId) ?? [];
  if (account === undefined || name === undefined)
    throw new Error("The event is not one of CloudFormation's: StackId is not the ARN of a stack.");
  return { name, account };
}
