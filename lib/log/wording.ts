/**
 * The wording of every line that Carillon logs. The event name is for machines, the sentence for
 * people. `{field}` is filled in from the event's fields. Alphabetical by name.
 */
export const wording = {
  "api.failed": "{method} {path} failed: {error}",
  "api.request": "{method} {path} → {status} in {ms} ms",
  "archive.day": "day {day} is in the archive: {jobs} jobs with {attempts} attempts in {parts} parts",
  "batch.failed": "operation {operation} of a batch, on {key}, failed: {error}",
  "batch.untried":
    "{operations} operations of a batch were not tried: its time was up, or too many others had failed",
  "credentials.lost":
    "the stored credentials of webhooks were sealed with a key that this deployment does not have: their schedules fail until the credentials are sent again",
  "database.held":
    "a transaction waited {ms} ms for this function's own computing (limit {most} ms), with its locks held",
  "events.failed": "the event bus failed on a request: {error}",
  "events.undelivered": "event {event} matched rule {rule} but could not be sent to {target}: {error}",
  "function.stray-exception": "an exception was thrown outside of a handler's run and is ignored: {error}",
  "function.stray-rejection": "a promise that no code awaits was rejected, and is ignored: {error}",
  "handler.digested": "{group} is reminded of {reminders} things in one message",
  "handler.greeted": "hello, {name} (job {job})",
  "handler.order-escalated":
    "order {order} has not been shipped {after} after it was placed: it is escalated",
  "handler.order-unshipped": "order {order} has not been shipped since {since}",
  "handlers.not-loaded":
    "the module of the handlers threw when it was imported; commands and jobs that need a handler fail: {error}",
  "handlers.same-name": "commands and jobs that need one of these handlers fail: {error}",
  "inbox.applied": "{applied} commands of the SQL inbox were applied, {refused} were refused",
  "ingest.done":
    "{commands} commands in {messages} messages: {applied} applied, {passedOver} skipped, {refused} refused, {early} too early; {stay} messages stay on the queue",
  "ingest.failed": "{messages} messages stay on the queue of commands: {error}",
  "ingest.not-again":
    "command {command} for {key} was refused when it was applied again after an older, late command: {kind}",
  "ingest.not-soon":
    "{messages} messages name a schedule that does not exist yet, and are retried later: {error}",
  "ingest.refused": "command {command} of message {message} for {key} is dead: {kind}",
  "ingest.untold":
    "{commands} dead commands could not be sent to the dead-letter queue; their messages are retried: {error}",
  "job.dead": "job {job} is dead after {attempt} attempts: {error}",
  "job.failed": "job {job} failed at attempt {attempt} and will be retried: {error}",
  "job.not-cancelled": "job {job} was not changed, since a bulk cancel could not write it: {error}",
  "job.not-retried": "job {job} was not changed, since a bulk retry could not write it: {error}",
  "job.unsettled":
    "job {job} of {key} stays in parcel {parcel}, since its result could not be written: {error}",
  "lifecycle.given-up": "{events} events were dropped: bus {bus} has not accepted them for a day",
  "lifecycle.held": "schedule {key} was put on hold by Carillon: {reason}",
  "lifecycle.holds-left":
    "holds of failing schedules could not be set, and are left to the next tick: {error}",
  "lifecycle.left": "events stay in the outbox and are left to the next tick: {error}",
  "lifecycle.untold": "bus {bus} did not accept {events} events, which will be sent again: {error}",
  "limits.defined": "the limits from handler definitions changed for {targets} targets",
  "limits.not-defined":
    "the limits from handler definitions could not be stored, and will be retried: {error}",
  "local.batch-failed":
    "{function} failed on {messages} messages of {queue}, which stay on it and are retried: {error}",
  "local.broken": "the stack cannot continue: {reason}",
  "local.close-failed": "{function} did not close cleanly: {error}",
  "local.delete-failed":
    "{messages} messages could not be removed from {queue} and will be delivered again: {error}",
  "local.give-back-failed":
    "{messages} unprocessed messages of {queue} could not be returned, and appear again after their visibility timeout: {error}",
  "local.handlers": "handlers of {file}: {handlers}",
  "local.handlers-kept": "the changed handlers could not be loaded, and the ones before stay: {error}",
  "local.handlers-reloaded": "handlers loaded again: {handlers}",
  "local.handlers-unwatched": "changes of handlers in {folder} are not seen any more: {error}",
  "local.invoke-failed": "a function that was invoked failed: {error}",
  "local.poll-failed": "{queue} could not be read: {error}",
  "local.request-failed": "the API function failed: {error}",
  "local.stop-cut": "not everything stopped in time; the rest is ended by force, and nothing is lost",
  "local.stopping": "stopping",
  "local.tick-dropped": "a tick was dropped because earlier ones still run; the next minute makes up for it",
  "local.tick-failed": "the tick failed; the next minute is its retry: {error}",
  "local.token": "the admin token is in {file}",
  "migration.ahead":
    "the database is newer than this release and compatible with it: no migration was applied",
  "migration.applied": "migration {number} applied: {name}",
  "migration.blocked":
    "migration {number} ({name}) lets other transactions pass and retries; its lock is held by {by}",
  "migration.unfinished": "the migrations of this release are not finished: {left}",
  "parcel.lease-ended": "the lease of parcel {parcel} ended without an answer; its jobs run again, alone",
  "parcel.lease-left":
    "parcel {parcel} keeps jobs of an ended lease, which could not be moved out of it: {error}",
  "parcel.left": "the time was up before {parcels} parcels were sent; they will be sent again",
  "parcel.odd-message": "a message that names no parcel was deleted from the queue: {message}",
  "parcel.refused": "the queue refused parcel {parcel}: {code} {error}",
  "parcel.split": "parcel {parcel} cannot be claimed, and was split into {parts} others: {error}",
  "parcel.split-failed": "parcel {parcel}, which cannot be claimed, was neither split nor set aside: {error}",
  "parcel.ungrouped":
    "The teams of parcels could not be read before the parcels were sent. They may overtake parcels of other teams.",
  "parcel.unmarked":
    "{parcels} parcels were sent but could not be marked as sent, and will be sent again: {error}",
  "parcel.unsent": "{parcels} parcels could not be sent to the {queue} queue and will be sent again: {error}",
  "postgres.leftover": "a Postgres of an earlier run was still running (process {pid}) and was stopped",
  "postgres.up": "Postgres is up on port {port} after {ms} ms",
  "pulse.failed": "{pulses} pulses of {at} were not accepted by target {target} and will be retried: {error}",
  "pulse.given-up": "{pulses} pulses of {at} are dropped: target {target} does not accept them: {error}",
  "pulse.not-allowed":
    "{pulses} pulses of {at} are dropped: target {target} is for schedules with other keys alone (targetPrefixes): {ids}",
  "pulse.passed-over":
    "no tick ran for {seconds} seconds of shard {shard}: the pulses of these seconds are skipped",
  "pulse.unmade":
    "{pulses} pulses of target {target} are dropped, since no message can be made of them: {ids}",
  "quarantine.dropped":
    "an entry of {consumer} in the quarantine was dropped, since its item is not the id of a schedule: {item}",
  "quarantine.entry-locked":
    "{consumer} failed on {item}, whose entry in the quarantine is locked by another transaction; the next tick retries it: {error}",
  "quarantine.set-aside":
    "{consumer} failed on {item}, which is set aside (attempts so far: {tries}) and retried at {next}: {error}",
  "quota.corrected":
    "the usage of {teams} prefixes was corrected by counting their schedules: the tables were changed by hand",
  "quota.near": "{prefix} uses {percent} % of its quota {quota}: {used} of {allowed}",
  "schedule.not-arrived": "schedule {key} of a move was not taken in: {error}",
  "schedule.not-changed": "schedule {key} was not changed, since a bulk {verb} could not write it: {error}",
  "schedule.not-deleted":
    "schedule {key} was not changed, since the cancel of its group could not write it: {error}",
  "stack.answer-failed": "the answer to request {request} of stack {stack} could not be sent: {error}",
  "stack.failed": "{type} of {resource} in stack {stack} failed: {error}",
  "stack.left-alone":
    "schedule {key} is not deleted with {resource} of stack {stack}, since it no longer has the resource's tag",
  "stack.request": "{type} of {resource} in stack {stack} is done: schedule {key}",
  "tick.cadences-reclaimed": "{cadences} cadences were deleted, since no schedule uses them",
  "tick.days-dropped": "days dropped: {days}",
  "tick.days-kept": "days could not be attached or dropped, and the next tick retries it: {error}",
  "tick.done": "tick made {jobs} jobs in {parcels} parcels ({batches} batches, {ms} ms)",
  "tick.events-told": "{events} events were sent to bus {bus}",
  "tick.foreign-locks":
    "a session of user {user}, which is none of Carillon's, keeps locks of Carillon and makes it wait: {locks}",
  "tick.locks-unread": "locks of other programs could not be looked for: {error}",
  "tick.move-unfinished":
    "a move of {prefix} to {peer} does not go on: {away} schedules run in neither installation, and {stopped} are stopped here",
  "tick.outage": "an outage has begun ({what}): since {from}",
  "tick.outage-over": "an outage is over ({what}): it lasted from {from} to {to}",
  "tick.pulse-targets-reclaimed": "{targets} targets that no pulse uses were deleted",
  "tick.purged": "{schedules} ended or deleted schedules and {auditEntries} entries of the audit were purged",
  "tick.targets-reclaimed": "{targets} targets that no schedule uses were deleted",
  "tick.transactions-hidden":
    "the age of open transactions is not measured: the owner of the tables may not see other roles' transactions (grant pg_read_all_stats to it)",
  "tick.unfinished": "the tick ran out of time; the next one continues ({jobs} jobs so far)",
  "tick.unmeasured": "the metrics of this tick lack the current state, which could not be read: {error}",
  "tick.zones-planned":
    "every schedule is planned by time zone data {version}: {checked} checked, {moved} moved",
  "tick.zones-recorded": "time zone data {version} replaces {from}; zones that differ: {zones}",
  "token.use-not-noted": "the use of token {token} could not be recorded, and will be retried: {error}",
  "webhook.answered": "{host} answered {status} to job {job} after {ms} ms",
  "webhook.failed": "job {job} got no answer from {host} in {ms} ms: {error}",
  "webhook.not-opened": "job {job} was not sent: {error}",
  "webhook.refused": "job {job} was not sent: {error}",
  "worker.beat-failed": "the lease of parcel {parcel} could not be renewed this time: {error}",
  "worker.blocked":
    "a handler has blocked the process for {seconds} s: the process is ended, and its jobs are retried when their leases end",
  "worker.claim-apart":
    "parcels {parcels} are claimed one by one, since claiming them together failed: {error}",
  "worker.company-left":
    "no other parcels of the target could be claimed along with parcel {parcel}: {error}",
  "worker.failed": "message {message} stays on its queue: {error}",
  "worker.lanes-left": "the lanes of schedule {schedule} are left to the next tick: {error}",
  "worker.lease-lost": "parcel {parcel} could not be settled: another worker has taken over its lease",
  "worker.pages-left":
    "the jobs of parcel {parcel} whose large payloads could not be read are handed back: {error}",
  "worker.settle-again": "settling parcel {parcel} failed and is retried: {error}",
  "worker.settle-apart":
    "parcels {parcels} are settled one by one, since settling them together failed: {error}",
  "worker.settle-halves":
    "parcel {parcel} is settled in halves, since settling all its jobs together failed: {error}",
  "worker.turns-left":
    "the next turns at target {target} could not be given, and are left to the next tick: {error}",
} as const;

export type LogEvent = keyof typeof wording;
