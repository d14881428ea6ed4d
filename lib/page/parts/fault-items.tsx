import { CarillonProblem } from "../../client/request/problem.ts";
import { sentenceOf } from "./answer-state.tsx";
import { Sentence } from "./sentence.tsx";

/** The faults of a refused request, each with its path. An error without faults is one item. */
export function FaultItems({ error }: { error: Error }) {
  const faults = error instanceof CarillonProblem ? error.errors : [];
  if (faults.length === 0)
    return (
      <li>
        <Sentence text={sentenceOf(error)} />
      </li>
    );
  return faults.map(({ path, message }) => (
    <li key={`${path} ${message}`}>
      <code>{path}</code> <Sentence text={message} />
    </li>
  ));
}
