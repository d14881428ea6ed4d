import { Refusal } from "../refusal.ts";

/**
 * Leaves out handlers whose name occurs twice, since a job would run one of them by chance. The
 * fault, which names them, is that of a schedule and of a job without a known handler.
 */
export function withoutSameNames<Handler extends { name: string }>(
  handlers: readonly Handler[],
): { handlers: readonly Handler[]; handlersFault: Refusal | undefined } {
  const times = Map.groupBy(handlers, ({ name }) => name);
  const same = [...times].flatMap(([name, each]) => (each.length > 1 ? [name] : []));
  if (same.length === 0) return { handlers, handlersFault: undefined };
  const text = `Several handlers have the name ${same.join(" or ")}, so none of them runs: give each a name of its own.`;
  return {
    handlers: handlers.filter(({ name }) => !same.includes(name)),
    handlersFault: new Refusal("impossible", text, [{ path: "target.handler", message: text }]),
  };
}
