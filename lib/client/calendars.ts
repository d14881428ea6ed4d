import type { InstantText } from "./json.ts";
import { listOf } from "./request/list.ts";
import type { ListOptions, Pages } from "./request/pages.ts";
import type { CallOptions, EditOptions, PutOptions, Request, Send } from "./request/transport.ts";

export type Weekday = "mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun";

/** Days without runs: a day, a day of every year (`12-25`), or a range of either. */
export interface CalendarBody {
  dates?: string[] | undefined;
  weekly?: Weekday[] | undefined;
  /** Working days, even if `dates` or `weekly` excludes them. */
  except?: string[] | undefined;
  description?: string | null | undefined;
}

export interface CalendarSummary {
  name: string;
  description: string | null;
  version: number;
  createdAt: InstantText;
  createdBy: string;
  updatedAt: InstantText;
  updatedBy: string;
}

export interface Calendar extends CalendarSummary {
  dates: string[];
  weekly: Weekday[];
  except: string[];
  /** Schedules that use the calendar; `pending` of them are still planned by older rules. */
  schedules: number;
  pending: number;
  /** True where there are more schedules than were counted. */
  more: boolean;
}

/** `replanned`: schedules that were replanned before the answer. */
export interface PutCalendar extends Calendar {
  replanned: number;
}

/** The changes that a put of a calendar would make. */
export interface CalendarPreview {
  name: string;
  change: "created" | "changed" | "unchanged";
  /** Schedules that use the calendar, and whether there are more than were counted. */
  schedules: number;
  more: boolean;
  /** Schedules whose coming runs were compared, and those that would run at other instants. */
  looked: number;
  affected: number;
  /** The first ten of these, with the runs from the first one that changes. */
  samples: { key: string; timezone: string; cadence: string; before: InstantText[]; after: InstantText[] }[];
}

export class Calendars {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  async put(name: string, body: CalendarBody, options?: PutOptions): Promise<PutCalendar> {
    return (await this.#send<PutCalendar>({ method: "PUT", path: at(name), body, options })).body;
  }

  /** The runs that a put of this calendar would move or skip; nothing is changed. */
  async preview(name: string, body: CalendarBody, options?: CallOptions): Promise<CalendarPreview> {
    const request: Request = {
      method: "POST",
      path: [...at(name), "preview"],
      body,
      changes: false,
      options,
    };
    return (await this.#send<CalendarPreview>(request)).body;
  }

  async get(name: string, options?: CallOptions): Promise<Calendar> {
    return (await this.#send<Calendar>({ method: "GET", path: at(name), options })).body;
  }

  async delete(name: string, options?: EditOptions): Promise<void> {
    await this.#send({ method: "DELETE", path: at(name), options });
  }

  /** Ordered by name. */
  list(params?: ListOptions): Pages<CalendarSummary> {
    return listOf(this.#send, ["v1", "calendars"], params);
  }
}

function at(name: string): string[] {
  return ["v1", "calendars", name];
}
