// biome-ignore lint/suspicious/noTsIgnore: an error is expected only in an app without the package
/** @ts-ignore In an app without the package `postgres` this is `any`. */
type Driver = import("postgres").ISql;

/**
 * The type of `sql`: that of the package `postgres` where the app has it, so that `sql` can be passed
 * to the app's own functions for it. Otherwise the parts that a handler's transaction has.
 */
export type HandlerSql = OrElse<Driver, PlainSql>;

/** An unknown import has every key. The usual test for `any` would not answer for it. */
type OrElse<Wanted, Other> = string extends keyof Wanted ? Other : Wanted;

/** The rows of a statement, with their number. */
export type PlainRows<Rows extends readonly unknown[]> = Rows & { readonly count: number | null };

/** A statement. It runs when it is awaited; until then it can be a part of another statement. */
export interface PlainStatement<Rows extends readonly unknown[]> extends Promise<PlainRows<Rows>> {
  execute(): this;
  /** Runs text with several statements, which takes no parameters. */
  simple(): this;
}

export interface PlainRow {
  // biome-ignore lint/suspicious/noExplicitAny: as in the package; the database knows the types
  [column: string]: any;
}

/** The parts of a transaction that a handler uses, for apps without the package `postgres`. */
export interface PlainSql {
  /** A statement, with each value sent as a parameter: sql`select ${id}::bigint`. */
  <Rows extends readonly (object | undefined)[] = PlainRow[]>(
    template: TemplateStringsArray,
    // biome-ignore lint/suspicious/noExplicitAny: the driver names the place of a value it cannot send
    ...values: any[]
  ): PlainStatement<Rows>;
  /** A name, such as `sql("orders")`. */
  (name: string): object;
  /** Names, or rows with the columns that are written, for use within a statement. */
  (parts: readonly string[]): object;
  (rows: PlainRow | readonly PlainRow[], ...columns: string[]): object;
  /** Text as a statement; its parameters are `$1`, `$2`, … */
  // biome-ignore lint/suspicious/noExplicitAny: as for values in a template
  unsafe<Rows extends any[] = PlainRow[]>(query: string, parameters?: any[]): PlainStatement<Rows>;
  /** An array as one parameter; `type` is the oid of its elements. */
  // biome-ignore lint/suspicious/noExplicitAny: as for values in a template
  array(values: any[], type?: number): object;
  /** A value as one parameter of type json. */
  // biome-ignore lint/suspicious/noExplicitAny: as for values in a template
  json(value: any): object;
  /** A value as one parameter of the type with this oid. */
  typed(value: unknown, oid: number): object;
}
