import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type RefusedCommand, type RefusedSource, refusedCommandQuery } from "../../data/refused-queries.ts";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { SendAgain } from "./send-again.tsx";
import { textAt } from "./text-at.ts";

interface RefusedRowProps {
  of: RefusedSource;
  command: RefusedCommand;
  isOpen: boolean;
  onToggle(isOpen: boolean): void;
}

/** One refused command: why, and opened its text, to be mended and sent again. */
export function RefusedRow({ of, command, isOpen, onToggle }: RefusedRowProps) {
  const { key, refusedAt, why, faults } = command;
  return (
    <li>
      <details open={isOpen} onToggle={(event) => onToggle(event.currentTarget.open)}>
        <summary>
          <Instant at={refusedAt} />
          <span>
            <span className="mono">{key ?? "no readable key"}</span>
            <span className="refused-why">
              <Sentence text={why} />
            </span>
            {faults.map(({ path, message }) => (
              <span key={`${path} ${message}`} className="faults">
                <span className="mono">{path}</span> <Given text={textAt(command.command, path)} />
                <Sentence text={message} />
              </span>
            ))}
          </span>
        </summary>
        {isOpen ? <Opened of={of} command={command} /> : null}
      </details>
    </li>
  );
}

/** The refused value: a fault may name a position in it. */
function Given({ text }: { text: string | undefined }) {
  return text === undefined ? null : (
    <>
      “<code>{text}</code>”:{" "}
    </>
  );
}

function Opened({ of, command: { id, key, at, from } }: Pick<RefusedRowProps, "of" | "command">) {
  const { carillon } = useSession();
  const read = useQuery(refusedCommandQuery(carillon, of, id));
  return (
    <div className="refused-more">
      <p className="quiet">
        {at === null ? null : (
          <>
            sent <Instant at={at} />{" "}
          </>
        )}
        {of === "queue" ? "in" : "by"} <span className="mono">{from}</span>
      </p>
      {key === null ? null : (
        <Link to="/schedules/$key" params={{ key }} className="link">
          The schedule as it is now
        </Link>
      )}
      <AnswerState error={read.error} isPending={read.isPending} retry={() => void read.refetch()} />
      {read.data === undefined ? null : <SendAgain of={of} command={read.data} />}
    </div>
  );
}
