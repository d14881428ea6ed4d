import { useQuery } from "@tanstack/react-query";
import type { TokenSummary } from "../../../client/tokens.ts";
import type { More } from "../../data/more.ts";
import { ownTokenQuery, useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm } from "../../parts/dialog/confirm.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { type Column, VirtualTable } from "../../parts/virtual-table.tsx";
import { RotateToken } from "./rotate-token.tsx";

interface TokenTableProps extends More {
  tokens: readonly TokenSummary[];
}

export function TokenTable({ tokens, hasMore, onEnd }: TokenTableProps) {
  return (
    <VirtualTable
      label="Tokens"
      className="tokens"
      columns={columns}
      rows={tokens}
      keyOf={({ id }) => id}
      hasMore={hasMore}
      onEnd={onEnd}
      empty="There is no token."
    />
  );
}

const columns: readonly Column<TokenSummary>[] = [
  { name: "Name", className: "key", cell: ({ name }) => <span className="mono">{name}</span> },
  { name: "Scope", className: "scope", cell: ({ scope }) => scope },
  {
    name: "Keys",
    className: "prefix",
    cell: ({ prefix }) => (prefix === null ? "all" : <span className="mono">{prefix}…</span>),
  },
  { name: "Rate", className: "rate", cell: ({ rate }) => rate ?? <span className="faint">–</span> },
  { name: "Last used", className: "used", cell: UsedCell },
  {
    name: "Expires",
    className: "expires",
    cell: ({ expiresAt }) =>
      expiresAt === null ? <span className="faint">never</span> : <Instant at={expiresAt} as="relative" />,
  },
  { name: "Made by", className: "by", cell: ({ createdBy }) => createdBy },
  { name: "Change", className: "change", cell: (token) => <ChangeCell token={token} /> },
];

function UsedCell({ lastUsedAt }: TokenSummary) {
  return lastUsedAt === null ? (
    <span className="faint">not yet</span>
  ) : (
    <Instant at={lastUsedAt} as="relative" />
  );
}

function ChangeCell({ token }: { token: TokenSummary }) {
  return (
    <span className="token-actions">
      {useMay("rotateToken") ? <RotateToken token={token} /> : null}
      {useMay("deleteToken") ? <RevokeToken token={token} /> : null}
    </span>
  );
}

function RevokeToken({ token: { id, name } }: { token: TokenSummary }) {
  const { carillon } = useSession();
  const own = useQuery(ownTokenQuery(carillon));
  return (
    <Confirm<TokenSummary>
      button="Revoke …"
      title={`Revoke the token ${name}?`}
      previewKey={["revoke", id]}
      preview={(signal) => carillon.tokens.get(id, { signal })}
      describe={({ scope, lastUsedAt }) => (
        <>
          <p>
            It has the scope {scope} and{" "}
            {lastUsedAt === null ? (
              "was never used"
            ) : (
              <>
                was last used <Instant at={lastUsedAt} as="relative" />
              </>
            )}
            . Requests with it are refused from then on, at once and for good.
            {scope === "read" ? null : " The schedules that were put with it stay."}
          </p>
          {own.data?.id === id ? (
            <p className="notice bad">This is your own token: you are signed out.</p>
          ) : null}
        </>
      )}
      verb={() => "Revoke"}
      act={async () => {
        await carillon.tokens.delete(id);
        return `The token ${name} is revoked.`;
      }}
      isDangerous
      hasNoReason
    />
  );
}
