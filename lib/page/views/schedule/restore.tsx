import type { RestorePreview } from "../../../client/time.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Changes } from "../../parts/changes.tsx";
import { Confirm } from "../../parts/dialog/confirm.tsx";
import { MovedInstants, movesOf } from "../../parts/time/moved-instants.tsx";

interface RestoreProps {
  name: string;
  version: number;
  /** Null if the schedule is deleted: it is made again. */
  current: number | null;
}

/** Restores an old version once its effect was shown. */
export function Restore({ name, version, current }: RestoreProps) {
  const { carillon } = useSession();
  const isDeleted = current === null;
  const condition = isDeleted ? { ifNoneMatch: "*" as const } : { ifMatch: current };
  return (
    <Confirm<RestorePreview>
      button={isDeleted ? "Make it again …" : "Restore …"}
      title={isDeleted ? `Make ${name} again from version ${version}?` : `Restore version ${version}?`}
      previewKey={["restore", name, version]}
      preview={(signal) => carillon.schedules.tryRestore(name, version, { ...condition, signal })}
      describe={(preview) => <Effect {...preview} />}
      hasNoReason
      verb={({ fields }) => {
        if (isDeleted) return "Make it again";
        return fields.length === 0 ? null : `Restore version ${version}`;
      }}
      act={async () => {
        const edited = await carillon.schedules.restore(name, version, condition);
        if (isDeleted) return `${name} is there again, with the fields of version ${version}.`;
        return `Version ${edited.version} has the fields of version ${version}.`;
      }}
    />
  );
}

function Effect({ version, fields, changes: { before, after } }: RestorePreview) {
  if (version === null)
    return (
      <>
        <p>Its holds are not restored, and its runs are counted from zero. Its next runs:</p>
        <MovedInstants label="Its next runs" changes={after.map((at) => ({ before: at, after: at }))} />
      </>
    );
  const moved = movesOf(before, after);
  return (
    <>
      {fields.length === 0 ? (
        <p>Its fields are those of now: nothing would change.</p>
      ) : (
        <Changes changes={fields} />
      )}
      <p>{moved.text}</p>
      <MovedInstants label="The next runs, before and after" changes={moved.changes} />
    </>
  );
}
