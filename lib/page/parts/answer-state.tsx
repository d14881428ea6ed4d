import { type ReactNode, useEffect, useState } from "react";
import { CarillonProblem, CarillonUnreachable } from "../../client/request/problem.ts";
import { refusalText } from "../data/text/refusal-text.ts";
import { Sentence } from "./sentence.tsx";

interface AnswerStateProps {
  error: Error | null;
  /** Whether the first answer is awaited still. */
  isPending: boolean;
  retry(): void;
}

/** The place of an answer that is awaited or has failed: what is the case, and what to do. */
export function AnswerState({ error, isPending, retry }: AnswerStateProps) {
  if (error !== null)
    return (
      <div className="notice bad" role="alert">
        <p>
          <Sentence text={sentenceOf(error)} />
        </p>
        <button type="button" className="button" onClick={retry}>
          Try again
        </button>
      </div>
    );
  return isPending ? <Pending /> : null;
}

/** An answer that takes longer than this is slow. */
const slowMs = 3_000;

/** The place of an answer that is awaited. Of a slow one it says so. */
export function Pending(): ReactNode {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), slowMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p className="rows-none" aria-busy="true" role="status">
      {isSlow ? "The API takes long to answer. The page goes on waiting." : "Loading …"}
    </p>
  );
}

export function sentenceOf(error: Error): string {
  if (error instanceof CarillonUnreachable)
    return "The API does not answer. It may be away, or this computer is offline; whether jobs run cannot be seen from here.";
  if (error instanceof CarillonProblem) {
    if (error.status === 403) return `This token may not see that: ${error.message}`;
    if (error.status === 429) return "The rate of this token is used up; the page asks again shortly.";
    if (error.status >= 500)
      return `The API failed: ${error.message}${error.requestId === undefined ? "" : ` (request ${error.requestId}, which its log names)`}`;
    return refusalText(error);
  }
  return error.message;
}
