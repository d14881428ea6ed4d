import { useInfiniteQuery } from "@tanstack/react-query";
import { moreOf } from "../../data/more.ts";
import { tokensQuery, useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { NewTokenButton } from "./new-token.tsx";
import { OwnTokenPanel } from "./own-token-panel.tsx";
import { TokenTable } from "./token-table.tsx";
import "../../look/tables.css";
import "../../look/more.css";

/** The rights of this token, and the other tokens. */
export function Tokens() {
  return (
    <>
      <header className="title">
        <h1>Tokens</h1>
        {useMay("createToken") ? <NewTokenButton /> : null}
      </header>
      <OwnTokenPanel />
      {useMay("listTokens") ? <AllTokens /> : null}
    </>
  );
}

function AllTokens() {
  const { carillon } = useSession();
  const pages = useInfiniteQuery(tokensQuery(carillon));
  return (
    <>
      <AnswerState error={pages.error} isPending={pages.isPending} retry={() => void pages.refetch()} />
      {pages.data === undefined ? null : (
        <TokenTable tokens={pages.data.pages.flatMap(({ items }) => items)} {...moreOf(pages)} />
      )}
    </>
  );
}
