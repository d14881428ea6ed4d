import type { Schedule } from "../../../client/schedule.ts";
import { targetText } from "../../data/document/target-text.ts";
import { quoted } from "../../data/text/shell-text.ts";
import { Panel } from "../../parts/panel.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { PayloadText } from "./payload-text.tsx";
import { policyTexts } from "./policy-texts.ts";

/** Where a schedule sends which payload, and by which policies. */
export function Definition({ schedule }: { schedule: Schedule }) {
  const { key, target, payload } = schedule;
  return (
    <Panel title="Target, payload and policies" note={`version ${schedule.version}`}>
      <dl className="definition">
        <div>
          <dt className="mono">target</dt>
          <dd className="mono">
            {target === null ? (schedule.unreadable ?? "cannot be read") : targetText(target)}
          </dd>
        </div>
        <div>
          <dt className="mono">payload</dt>
          <dd>
            {payload === null ? (
              <span className="quiet">none</span>
            ) : (
              <PayloadText payload={payload} command={`carillon get ${quoted(key)}`} />
            )}
          </dd>
        </div>
        {policyTexts(schedule).map(({ field, text, isDefault }) => (
          <div key={field}>
            <dt className="mono">{field}</dt>
            <dd>
              <Sentence text={text} />
              {isDefault ? <span className="quiet"> (default)</span> : null}
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
