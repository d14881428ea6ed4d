import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { nameFault } from "../../../client/request/names.ts";
import { calendarsQuery } from "../../data/calendar-queries.ts";
import { useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Actor } from "../../parts/actor.tsx";
import { AnswerState } from "../../parts/answer-state.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import "../../look/calendars.css";
import "../../look/tables.css";

/** The shared lists of days on which schedules do not run. */
export function Calendars() {
  const { carillon } = useSession();
  const calendars = useQuery(calendarsQuery(carillon));
  const mayEdit = useMay("putCalendar");
  return (
    <>
      <header className="title">
        <h1>Calendars</h1>
        <p className="quiet">days on which schedules do not run</p>
      </header>
      {mayEdit ? <NewCalendar /> : null}
      <AnswerState
        error={calendars.error}
        isPending={calendars.isPending}
        retry={() => void calendars.refetch()}
      />
      {calendars.data === undefined ? null : (
        <Panel title="By name">
          {calendars.data.items.length === 0 ? <p className="rows-none">There is no calendar.</p> : null}
          <ul className="calendar-list">
            {calendars.data.items.map(({ name, description, version, updatedAt, updatedBy }) => (
              <li key={name}>
                <Link to="/calendars/$name" params={{ name }} className="link">
                  {name}
                </Link>
                <span>{description}</span>
                <span className="quiet">
                  version {version}, <Instant at={updatedAt} /> by <Actor name={updatedBy} />
                </span>
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

function NewCalendar() {
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const fault = name === "" ? null : nameFault(name);
  const open = (event: FormEvent) => {
    event.preventDefault();
    if (name !== "" && fault === null) void navigate({ to: "/calendars/$name", params: { name } });
  };
  return (
    <form className="filters one-field" onSubmit={open}>
      <label>
        <span>Name of a new calendar</span>
        <input
          type="text"
          spellCheck={false}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <button type="submit" className="button" disabled={name === "" || fault !== null}>
        Make it
      </button>
      {fault === null ? null : <p role="status">A name {fault}.</p>}
    </form>
  );
}
