import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { TokenSummary } from "../../../client/tokens.ts";
import { ownTokenQuery } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { useAction } from "../../hooks/use-action.ts";
import { sentenceOf } from "../../parts/answer-state.tsx";
import { Leave } from "../../parts/dialog/leave.tsx";
import { IssuedToken } from "./issued-token.tsx";
import { SecretDialog } from "./secret-dialog.tsx";

/** Gives a token a new secret. The old one stays valid for a while, so that its users can change over. */
export function RotateToken({ token }: { token: TokenSummary }) {
  return (
    <SecretDialog button="Rotate …" title={`A new secret for ${token.name}?`}>
      {(onBusy) => <Rotation token={token} onBusy={onBusy} />}
    </SecretDialog>
  );
}

const overlaps = [
  ["1h", "for an hour"],
  ["24h", "for a day"],
  ["7d", "for a week"],
  ["0s", "no longer: it is refused at once"],
] as const;

interface RotationProps {
  token: TokenSummary;
  onBusy(isBusy: boolean): void;
}

function Rotation({ token: { id, name }, onBusy }: RotationProps) {
  const { carillon } = useSession();
  const queryClient = useQueryClient();
  const own = useQuery(ownTokenQuery(carillon));
  const [overlap, setOverlap] = useState<string>("24h");
  const rotation = useAction({
    mutationFn: () => carillon.tokens.rotate(id, { overlap }),
    onMutate: () => onBusy(true),
    // After its own rotation this session has the old secret, which may have ended.
    onSuccess: () =>
      own.data?.id === id ? undefined : queryClient.invalidateQueries({ queryKey: ["tokens"] }),
    onSettled: () => onBusy(false),
    gcTime: 0,
  });
  if (rotation.data !== undefined)
    return (
      <IssuedToken token={rotation.data.token}>
        The token <b className="mono">{name}</b> has a new secret.
      </IssuedToken>
    );
  return (
    <div className="dialog-form">
      <label>
        The old secret stays valid
        <select value={overlap} onChange={(event) => setOverlap(event.target.value)}>
          {overlaps.map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <p className="quiet">At most four secrets of a token are valid at a time.</p>
      {own.data?.id === id ? (
        <p className="notice bad">
          This is your own token: sign in with the new secret before the old one ends.
        </p>
      ) : null}
      {rotation.error === null ? null : (
        <p className="notice bad" role="alert">
          {sentenceOf(rotation.error)}
        </p>
      )}
      <footer>
        <Leave isBusy={rotation.isPending} />
        <button
          type="button"
          className="button primary"
          disabled={rotation.isPending}
          onClick={() => rotation.act()}
        >
          {rotation.isPending ? "Working …" : "Rotate"}
        </button>
      </footer>
    </div>
  );
}
