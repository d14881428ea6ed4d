/**
 * Every line that Carillon logs, worded in one place: the event's name is what machines read, the sentence what people read.
 * `{field}` is filled in from the event's fields. Alphabetical by name.
 */
export const wording = {
  "api.failed": "{method} {path} failed: {error}",
  "api.request": "{method} {path} → {status} in {ms} ms",
  "archive.day": "day {day} is in the archive: {jobs} jobs with {attempts} attempts in {parts} parts",
  "batch.failed": "operation {operation} of a batch, on {key}, failed: {error}",
  "batch.untried":
    "{operations} operations of a batch were not tried, since its time was up or too many others failed",
  "database.held":
    "a transaction waited {ms} ms for computing in this function (at most {most} is meant): its locks were held meanwhile",
  "events.failed": "the event bus could not answer: {error}",
  "events.undelivered": "event {event} matched rule {rule} but could not be sent to {target}: {error}",
  "function.stray-exception": "an exception that was thrown outside of any run was passed over: {error}",
  "function.stray-rejection": "a promise that nothing awaits was rejected: {error}",
  "handler.greeted": "hello, {name} (job {job})",
  "handler.digested": "{group} is reminded of {reminders} things in one message",
  "handler.order-escalated":
    "order {order} has not been shipped {after} after it was placed: it is escalated",
  "handler.order-unshipped": "order {order} has not been shipped since {since}",
  "inbox.applied": "{applied} commands of the SQL inbox were applied, {refused} were refused",
  "ingest.done":
    "{commands} commands in {messages} messages: {applied} applied, {passedOver} passed over, {refused} refused, {early} early; {stay} messages stay",
  "ingest.failed": "{messages} messages stay on the queue of commands: {error}",
  "ingest.not-again":
    "command {command} for {key} is not taken any more after an older one that came late: {kind}",
  "ingest.not-soon": "{messages} messages whose schedule is not there yet come again later: {error}",
  "ingest.refused": "command {command} of message {message} for {key} is dead: {kind}",
  "ingest.untold":
    "{commands} dead commands did not reach the dead-letter queue, and their messages come again: {error}",
  "job.dead": "job {job} is dead after {attempt} attempts: {error}",
  "job.failed": "job {job} failed at attempt {attempt} and will be tried again: {error}",
  "lifecycle.given-up":
    "{events} events were not told: bus {bus} has not taken them for a day, and they are dropped",
  "lifecycle.held": "schedule {key} is held by Carillon: {reason}",
  "lifecycle.holds-left": "schedules that are to be held wait for the tick: {error}",
  "lifecycle.left": "events stay in the outbox for the tick: {error}",
  "lifecycle.untold": "bus {bus} did not take {events} events, which will be told again: {error}",
  "limits.defined": "the limits that handlers define changed for {targets} targets",
  "limits.not-defined": "the limits that handlers define could not be taken over, and will be later: {error}",
  "local.batch-failed":
    "{function} failed on {messages} messages of {queue}, which stay there for now: {error}",
  "local.broken": "the stack cannot go on: {reason}",
  "local.close-failed": "{function} did not close cleanly: {error}",
  "local.give-back-failed":
    "{messages} messages of {queue} that nobody has begun come again only after their visibility timeout: {error}",
  "local.invoke-failed": "a function that was invoked failed: {error}",
  "local.poll-failed": "{queue} could not be read: {error}",
  "local.delete-failed": "{messages} messages could not be removed from {queue} and will come again: {error}",
  "local.request-failed": "the API function failed: {error}",
  "local.stop-cut": "not everything stopped in time; the rest is cut off, and nothing is lost",
  "local.stopping": "stopping",
  "local.tick-dropped": "a tick was dropped because earlier ones still run; the next minute makes up for it",
  "local.tick-failed": "the tick failed; the next minute is its retry: {error}",
  "local.token": "the admin token is in {file}",
  "migration.ahead":
    "the database is ahead of this release, which works with it as it is: nothing was done, and a newer one goes on from there",
  "migration.applied": "migration {number} applied: {name}",
  "migration.blocked":
    "migration {number} ({name}) lets others pass and tries again; its lock is held by {by}",
  "migration.unfinished": "the database is not at this release yet: {left}",
  "parcel.left": "the time for sending was up before {parcels} parcels were sent; they will be offered again",
  "parcel.split": "parcel {parcel} cannot be claimed, and jobs of it go into {parts} others: {error}",
  "parcel.split-failed": "parcel {parcel}, which cannot be claimed, was neither split nor set aside: {error}",
  "parcel.lease-left": "parcel {parcel} keeps jobs that cannot be taken from it: {error}",
  "parcel.lease-ended": "the lease of parcel {parcel} ended without an answer; its jobs run again, alone",
  "parcel.odd-message": "a message that is no parcel was taken off the queue: {message}",
  "parcel.refused": "the queue refused parcel {parcel}: {code} {error}",
  "parcel.unmarked": "{parcels} parcels were sent but not marked so, and will be offered again: {error}",
  "parcel.unsent": "{parcels} parcels did not reach the {queue} queue and will be offered again: {error}",
  "pulse.failed":
    "{pulses} pulses of {at} were not taken by target {target} and will be tried again: {error}",
  "pulse.given-up": "{pulses} pulses of {at} are given up: target {target} does not take them: {error}",
  "pulse.passed-over":
    "no tick came for {seconds} seconds of shard {shard}: its pulses there are passed over",
  "pulse.unmade":
    "{pulses} pulses of target {target} are given up, since no message can be made of them: {ids}",
  "postgres.leftover": "a Postgres of an earlier run was still up (process {pid}) and has been stopped",
  "postgres.up": "Postgres is up on port {port} after {ms} ms",
  "quarantine.dropped":
    "an entry of {consumer} in the quarantine was dropped, since its item is not the number of a schedule: {item}",
  "quarantine.entry-locked":
    "{consumer} failed on {item}, whose entry in the quarantine another transaction has locked: it is tried again with the next tick: {error}",
  "quarantine.set-aside":
    "{consumer} failed on {item}, which is set aside (tries so far: {tries}) and tried again at {next}: {error}",
  "tick.cadences-reclaimed": "{cadences} cadences were deleted, since no schedule uses them",
  "tick.days-dropped": "days dropped: {days}",
  "tick.days-kept": "days could not be attached or dropped now and will be next minute: {error}",
  "tick.done": "tick made {jobs} jobs in {parcels} parcels ({batches} batches, {ms} ms)",
  "tick.events-told": "{events} events were told to bus {bus}",
  "tick.purged":
    "{schedules} schedules that were over and {auditEntries} entries of the audit were let go of",
  "tick.transactions-hidden":
    "how long transactions have been open is not measured: the owner of the tables may not see those of others (grant pg_read_all_stats to it)",
  "tick.unfinished": "the tick ran out of time; the next one goes on ({jobs} jobs so far)",
  "tick.unmeasured": "the metrics of this tick lack what stands, which could not be read: {error}",
  "tick.zones-planned":
    "every schedule is planned by time zone data {version}: {checked} looked at, {moved} moved",
  "tick.targets-reclaimed": "{targets} targets to which nothing goes any more are deleted",
  "tick.zones-recorded": "time zone data {version} is in force, after {from}; zones that differ: {zones}",
  "token.use-not-noted": "that token {token} is used could not be noted, and will be later: {error}",
  "webhook.answered": "{host} answered {status} to job {job} after {ms} ms",
  "webhook.failed": "job {job} got no answer from {host} in {ms} ms: {error}",
  "webhook.refused": "job {job} was not sent: {error}",
  "worker.beat-failed": "a sign of life for parcel {parcel} did not arrive; the next one may: {error}",
  "worker.blocked":
    "a handler has blocked the process for {seconds} s: it is ended, and its jobs come back when their leases end",
  "worker.claim-apart": "{parcels} are claimed one by one, since no claim took them together: {error}",
  "worker.company-left": "no others are worked along with parcel {parcel}: {error}",
  "worker.failed": "message {message} stays on its queue: {error}",
  "worker.lease-lost": "parcel {parcel} was settled by somebody else: its lease had been taken over",
  "worker.pages-left": "of parcel {parcel} what has no page of large payloads yet goes back: {error}",
  "schedule.not-deleted":
    "schedule {key} stays as it is, since the cancel of its group cannot write it: {error}",
  "job.not-cancelled": "job {job} stays as it is, since a cancel of many cannot write it: {error}",
  "job.not-retried": "job {job} stays as it is, since a retry of many cannot write it: {error}",
  "job.unsettled":
    "job {job} of {key} stays in parcel {parcel}, since what became of it cannot be written: {error}",
  "worker.settle-again": "parcel {parcel} is settled by another try: {error}",
  "worker.settle-halves": "parcel {parcel} is settled in halves, since no settle took all its jobs: {error}",
  "worker.lanes-left": "the lanes of schedule {schedule} are left to the next tick: {error}",
  "worker.turns-left":
    "whose turn has come at target {target} could not be asked, and the next tick will: {error}",
  "worker.settle-apart": "{parcels} are settled one by one, since no settle took them together: {error}",
} as const;

export type LogEvent = keyof typeof wording;
