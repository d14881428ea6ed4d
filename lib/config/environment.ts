/**
 * The environment of a function or of the local stack. A plain object, so that tests and the local
 * stack can bring their own.
 */
export type Environment = Readonly<Record<string, string | undefined>>;

export class MissingVariable extends Error {
  override readonly name = "MissingVariable";
  readonly variable: string;

  constructor(variable: string, hint?: string) {
    super(`The environment variable ${variable} is not set${hint === undefined ? "" : `: ${hint}`}.`);
    this.variable = variable;
  }
}

export function required(env: Environment, variable: string, hint?: string): string {
  const value = env[variable];
  if (value === undefined || value === "") throw new MissingVariable(variable, hint);
  return value;
}

/** A whole number in [min, max], or the default if the variable is not set. */
export function integer(
  env: Environment,
  variable: string,
  byDefault: number,
  bounds: { min: number; max: number },
): number {
  const value = env[variable];
  if (value === undefined || value === "") return byDefault;
  const parsed = Number(value);
  if (!Number.isInteger(parsed) || parsed < bounds.min || parsed > bounds.max) {
    throw new Error(
      `The environment variable ${variable} is "${value}"; it takes a whole number from ${bounds.min} to ${bounds.max}.`,
    );
  }
  return parsed;
}

/** `true` or `false`; false if the variable is not set. */
export function flag(env: Environment, variable: string): boolean {
  const value = env[variable];
  if (value === undefined || value === "" || value === "false") return false;
  if (value === "true") return true;
  throw new Error(`The environment variable ${variable} is "${value}"; it takes "true" or "false".`);
}
