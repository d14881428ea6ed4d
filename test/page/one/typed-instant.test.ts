import { expect, test } from "vitest";
import {
  occurrenceMeant,
  typedInstant,
  writtenInstant,
} from "../../../lib/page/views/schedule/typed-instant.ts";

const now = Date.parse("2026-11-27T23:30:00Z");

test.each([
  ["09:00", "Europe/Berlin", "2026-11-28T08:00:00.000Z"],
  ["9:05", "America/New_York", "2026-11-27T14:05:00.000Z"],
  ["2026-03-02 09:00", "Asia/Kathmandu", "2026-03-02T03:15:00.000Z"],
  [" 2026-03-02T09:00:30 ", "UTC", "2026-03-02T09:00:30.000Z"],
  ["2026-03-02 09:00:30.041", "UTC", "2026-03-02T09:00:30.041Z"],
  ["2026-03-02 09:00Z", "Europe/Berlin", "2026-03-02T09:00:00.000Z"],
  ["2026-03-02T09:00:00.929+05:45", "Europe/Berlin", "2026-03-02T03:15:00.929Z"],
  // A time in the missing hour is taken for the time after it, and a repeated time for the first one.
  ["2026-03-29 02:30", "Europe/Berlin", "2026-03-29T01:30:00.000Z"],
  ["2026-10-25 02:30", "Europe/Berlin", "2026-10-25T00:30:00.000Z"],
])("%j in %s is the instant %s", (text, zone, instant) => {
  expect(typedInstant(text, { zone, now })).toBe(instant);
});

test.each([
  "",
  "tomorrow",
  "25:00",
  "09:60",
  "09:00:75",
  "2026-02-31 09:00",
  "2026-02-31T09:00Z",
  "2026-13-01 09:00",
])("%j is no instant", (text) => {
  expect(typedInstant(text, { zone: "Europe/Berlin", now })).toBeNull();
});

const nearest = (at: string | null) => ({
  before: null,
  after: at === null ? null : { at, wall: "", note: null },
});

test.each([
  ["03:20", "2026-11-29T03:20:35.890Z", "2026-11-29T03:20:35.890Z"],
  ["2026-11-29 03:20", "2026-11-29T03:20:35.890Z", "2026-11-29T03:20:35.890Z"],
  ["03:20", "2026-11-29T03:21:00.000Z", undefined],
  ["03:20:00", "2026-11-29T03:20:35.890Z", undefined],
  ["03:20", null, undefined],
])("%j before an occurrence at %s means the occurrence %s", (text, after, meant) => {
  const asked = { occurrence: false, at: "2026-11-29T03:20:00.000Z", nearest: nearest(after) };
  expect(occurrenceMeant(text, asked)).toBe(meant);
  expect(occurrenceMeant(text, { ...asked, occurrence: true })).toBeUndefined();
});

test.each([
  ["2026-03-02T08:00:00.000Z", "Europe/Berlin", "2026-03-02 09:00"],
  ["2026-03-02T08:00:07.000Z", "America/New_York", "2026-03-02 03:00:07"],
  ["2026-10-25T00:30:00.000Z", "Europe/Berlin", "2026-10-25 02:30"],
  ["2026-10-25T01:30:00.000Z", "Europe/Berlin", "2026-10-25 02:30+01:00"],
  ["2026-11-01T06:30:07.000Z", "America/New_York", "2026-11-01 01:30:07-05:00"],
  // A job that was fired by hand has an instant of its own.
  ["2026-03-02T08:00:00.500Z", "Europe/Berlin", "2026-03-02 09:00:00.500"],
  ["2026-03-02T08:00:07.041Z", "UTC", "2026-03-02 08:00:07.041"],
  ["yesterday", "Europe/Berlin", "yesterday"],
])("The instant %s in %s is written %s", (at, zone, text) => {
  expect(writtenInstant(at, zone)).toBe(text);
});
