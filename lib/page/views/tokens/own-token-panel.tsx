import { useQuery } from "@tanstack/react-query";
import type { OwnToken } from "../../../client/tokens.ts";
import { numberText } from "../../data/amounts.ts";
import { ownTokenQuery } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Instant } from "../../parts/time/instant.tsx";

/** The token of this session, and what it may do. */
export function OwnTokenPanel() {
  const { carillon, signOut } = useSession();
  const own = useQuery(ownTokenQuery(carillon));
  return (
    <Panel title="Your token" note={own.data === undefined ? "…" : signInText(own.data)}>
      <AnswerState error={own.error} isPending={own.isPending} retry={() => void own.refetch()} />
      {own.data === undefined ? null : (
        <div className="own-token">
          <Facts own={own.data} />
          <details>
            <summary>What it may do: {numberText(operationsOf(own.data))} operations</summary>
            <dl className="may">
              {own.data.may.map(({ area, operations }) => (
                <div key={area}>
                  <dt>{area}</dt>
                  <dd>
                    <ul>
                      {operations.map(({ operation, what }) => (
                        <li key={operation}>{what}</li>
                      ))}
                    </ul>
                  </dd>
                </div>
              ))}
            </dl>
          </details>
          <button type="button" className="button" onClick={signOut}>
            Sign out
          </button>
        </div>
      )}
    </Panel>
  );
}

function Facts({ own: { name, scope, prefix, expiresAt, rate, holdOwner } }: { own: OwnToken }) {
  return (
    <dl className="pairs">
      <dt>Name</dt>
      <dd className="mono">{name}</dd>
      <dt>Scope</dt>
      <dd>{scopeText[scope]}</dd>
      <dt>Keys</dt>
      <dd>{prefix === null ? "all" : <span className="mono">{prefix}…</span>}</dd>
      <dt>Expires</dt>
      <dd>{expiresAt === null ? "never" : <Instant at={expiresAt} />}</dd>
      <dt>Rate</dt>
      <dd>{rate === null ? "no limit" : `${rate.limit}, ${numberText(rate.left)} left`}</dd>
      <dt>Its holds belong to</dt>
      <dd className="mono">{holdOwner}</dd>
    </dl>
  );
}

const scopeText: Readonly<Record<OwnToken["scope"], string>> = {
  read: "read: sees, and changes nothing",
  write: "write: also changes schedules and jobs",
  admin: "admin: also tokens, limits and the audit",
};

function signInText({ signIn }: OwnToken): string {
  return signIn === "token" ? "kept in this tab only" : `the gateway signed you in (${signIn})`;
}

const operationsOf = ({ may }: OwnToken) => may.reduce((sum, { operations }) => sum + operations.length, 0);
