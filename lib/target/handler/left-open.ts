import { Stream } from "node:stream";
import { isStatement, type Statement } from "../../db/statement.ts";

/**
 * Cursors and copies of a transaction. While one of them is open, no later statement is answered.
 */
export class LeftOpen {
  readonly #reads: (() => boolean)[] = [];
  readonly #iterated = new WeakSet<Statement>();

  isAny(): boolean {
    return this.#reads.some((isOpen) => isOpen());
  }

  /** Called before the handler gets the statement. */
  made(statement: Statement): void {
    const cursor: unknown = Reflect.get(statement, "cursor");
    if (typeof cursor !== "function") return;
    Reflect.set(statement, "cursor", (...details: unknown[]) => {
      const made: unknown = Reflect.apply(cursor, statement, details);
      if (isStatement(made) || !isIterable(made)) return made;
      this.#iterated.add(statement);
      return this.#watched(made);
    });
  }

  sent(statement: Statement): void {
    const isCopy = isStreaming(statement);
    if (!isCopy && (!Reflect.has(statement, "cursorFn") || this.#iterated.has(statement))) return;
    let isOpen = () => true;
    const end = () => {
      isOpen = () => false;
    };
    // A copy is answered with its stream, as soon as that may begin.
    statement.then((answer) => {
      if (!isCopy) return end();
      isOpen = () => !isEnded(answer);
      // The stream also reports the end of its connection. Without a listener that would end the
      // process.
      if (answer instanceof Stream) answer.on("error", () => {});
    }, end);
    this.#reads.push(() => isOpen());
  }

  #watched(cursor: AsyncIterable<unknown>): AsyncIterable<unknown> {
    return {
      [Symbol.asyncIterator]: () => {
        const rows = cursor[Symbol.asyncIterator]();
        let [isOpen, asked] = [false, 0];
        this.#reads.push(() => isOpen);
        return {
          next: async () => {
            isOpen = true;
            asked += 1;
            try {
              const row = await rows.next();
              isOpen = row.done !== true;
              return row;
            } catch (error) {
              isOpen = false;
              throw error;
            } finally {
              asked -= 1;
            }
          },
          return: async () => {
            // The driver ignores a return while rows are on their way.
            if (asked === 0) isOpen = false;
            return (await rows.return?.()) ?? { done: true, value: undefined };
          },
        };
      },
    };
  }
}

export function isStreaming(statement: Statement): boolean {
  return Reflect.get(statement, "streaming") === true;
}

function isIterable(made: unknown): made is AsyncIterable<unknown> {
  return typeof made === "object" && made !== null && Symbol.asyncIterator in made;
}

/**
 * A copy to the server also ends when it is destroyed; a copy from the server goes on until it has
 * been read.
 */
function isEnded(stream: unknown): boolean {
  if (typeof stream !== "object" || stream === null) return true;
  if (Reflect.get(stream, "readableEnded") === true) return true;
  return (
    "writableEnded" in stream && (stream.writableEnded === true || Reflect.get(stream, "destroyed") === true)
  );
}
