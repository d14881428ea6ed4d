import * as z from "zod";

/** An error response, named as in the AWS JSON protocol. */
export class OperationFault extends Error {
  override readonly name = "OperationFault";
  readonly type: string;

  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

/** The name of a rule or a target. */
export const name = z.string().regex(/^[\w.-]{1,64}$/);

/** The name or ARN of a bus. Buses need not be created before use here. */
export const busName = z
  .string()
  .regex(/^(arn:aws[\w-]*:events:[\w-]*:\d*:event-bus\/)?[\w./-]{1,256}$/)
  .transform((bus) => bus.replace(/^arn:[^/]*\//, ""))
  .default("default");

export function read<Shape extends z.ZodType>(shape: Shape, input: unknown): z.output<Shape> {
  const { success, data, error } = shape.safeParse(input);
  if (!success) throw new OperationFault("ValidationException", z.prettifyError(error));
  return data;
}

/** The value of a JSON text; undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
