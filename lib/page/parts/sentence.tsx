import type { ReactNode } from "react";
import { Instant } from "./instant.tsx";

const instant = /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g;

interface SentenceProps {
  text: string;
  /** The schedule that its instants belong to. */
  of?: string;
}

/** A sentence of the server, its instants on the clocks of the screen's zone. */
export function Sentence({ text, of }: SentenceProps): ReactNode {
  let end = 0;
  const parts = [...text.matchAll(instant)].flatMap(({ 0: at, index }) => {
    const before = text.slice(end, index);
    end = index + at.length;
    return [before, <Instant key={index} as="exact" at={at} {...(of === undefined ? {} : { of })} />];
  });
  return (
    <>
      {parts}
      {text.slice(end)}
    </>
  );
}
