import type { ReactNode } from "react";
import { marked } from "../data/text/sentence-text.ts";
import { Instant } from "./time/instant.tsx";

interface SentenceProps {
  text: string;
  /** The schedule that its instants belong to. */
  of?: string;
}

/** A sentence of the server, its instants on the clocks of the screen's zone, its names as code. */
export function Sentence({ text, of }: SentenceProps): ReactNode {
  let end = 0;
  const parts = [...text.matchAll(marked)].flatMap(({ 0: whole, 1: name, index }) => {
    const before = text.slice(end, index);
    end = index + whole.length;
    if (name !== undefined) return [before, <code key={index}>{name}</code>];
    return [before, <Instant key={index} as="exact" at={whole} {...(of === undefined ? {} : { of })} />];
  });
  return (
    <>
      {parts}
      {text.slice(end)}
    </>
  );
}
