import * as z from "zod";

/** An answer with an error, as the AWS JSON protocol names it. */
export class OperationFault extends Error {
  override readonly name = "OperationFault";
  readonly type: string;

  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

/** Of rules and targets. */
export const name = z.string().regex(/^[\w.-]{1,64}$/);

/** A bus is known by its name or its ARN; buses need not be made before they are used here. */
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

/** Undefined where the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
