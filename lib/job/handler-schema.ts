/**
 * The parts of a schema of zod 4 that Carillon uses. They are written out here, so that the types of
 * a handler without a schema need no zod.
 */
export interface HandlerSchema<Payload> {
  /** The type of what the schema answers; zod keeps it in the type of this member. */
  readonly _zod: { readonly output: Payload };
  safeParse(payload: unknown): { success: true; data: Payload } | { success: false; error: object };
}
