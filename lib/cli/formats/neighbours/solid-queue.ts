import * as z from "zod";
import { type Found, isObject, type JsonObject, type Reading } from "../found.ts";
import { joined } from "../parts.ts";
import type { SourceFile } from "../source-files.ts";
import { understood } from "../understood.ts";
import { impossible, keyOf, type Neighbour, type NeighbourParams, readEach } from "./neighbour.ts";
import { argumentsOf, fugitPart, jsonValue } from "./ruby-jobs.ts";

const taskShape = z.looseObject({
  schedule: z.string(),
  class: z.string().nullish(),
  command: z.string().nullish(),
  args: jsonValue.optional(),
  queue: z.string().nullish(),
  priority: z.int().nullish(),
  description: z.string().nullish(),
});

type Task = z.output<typeof taskShape>;

/** Reads config/recurring.yml of solid_queue, with environments or without. */
export const solidQueue: Neighbour = {
  isOf: (document) =>
    isObject(document) &&
    (hasTasks(document) || Object.values(document).some((each) => isObject(each) && hasTasks(each))),
  read(files: readonly SourceFile[], params: NeighbourParams): Reading {
    const notes: string[] = [];
    const found = readEach(files, (document, from) => {
      const { tasks, note, fault } = tasksIn(document, params.environment);
      if (note !== null) notes.push(note);
      if (fault !== null) return [impossible(from, null, fault)];
      return Object.entries(tasks).map(([name, task]) => foundTask(name, task, from, params));
    });
    return { found, notes };
  },
};

function isTask(task: unknown): boolean {
  return isObject(task) && "schedule" in task && ("class" in task || "command" in task);
}

function hasTasks(tasks: { [name: string]: unknown }): boolean {
  return Object.values(tasks).some(isTask);
}

interface Tasks {
  tasks: { [name: string]: unknown };
  note: string | null;
  fault: string | null;
}

/** The tasks of an environment; of the whole file where it has none, as solid_queue does. */
function tasksIn(document: unknown, environment = "production"): Tasks {
  if (!isObject(document)) return { tasks: {}, note: null, fault: "is not a file of recurring tasks" };
  const { [environment]: named } = document;
  if (isObject(named)) {
    const others = Object.keys(document).filter((name) => name !== environment);
    const left = others.length === 0 ? "" : `; left out: ${others.join(", ")} (--environment)`;
    return { tasks: named, note: `Read the environment ${environment}${left}.`, fault: null };
  }
  if (hasTasks(document)) return { tasks: document, note: null, fault: null };
  const names = Object.keys(document).join(", ");
  const fault = `has no environment ${environment}; it has ${names}: name one with --environment`;
  return { tasks: {}, note: null, fault };
}

function foundTask(name: string, task: unknown, file: string, params: NeighbourParams): Found {
  const from = `${file} ${name}`;
  const read = understood<Task>(task, taskShape, from);
  if (!read.ok) return { ...read.found, key: keyOf(name) };
  const { schedule, description } = read.value;
  const whoseZone = "Rails uses its own (config.solid_queue.time_zone, or the zone of its machine)";
  const parts = joined(
    fugitPart(schedule, params.timezone, whoseZone),
    {
      body: {
        target: params.target,
        payload: payloadOf(read.value),
        ...(description == null || description === "" ? {} : { description }),
      },
      faults:
        read.value.class == null && read.value.command == null ? ["it has no class and no command"] : [],
    },
    { differences: [...always, ...lostIn(read.value)] },
  );
  return { from, key: keyOf(name), ...parts };
}

const always = [
  'Carillon runs no Ruby: the task goes to the target as `{"class":…,"args":[…]}` or `{"command":…}`, and its receiver must run it or enqueue it in Rails',
  "solid_queue retries only as the job's class says; Carillon retries a failed job, with up to five attempts (`retry`)",
  "solid_queue skips runs for which no scheduler was up; Carillon makes up for the latest one (`catchUp`)",
];

function lostIn({ class: named, priority }: Task): string[] {
  return [
    ...(named == null ? [] : ["limits_concurrency of its class does not apply: `overlap` and limits do"]),
    ...(priority == null
      ? []
      : ["its priority is in the payload; `priority` of Carillon knows high, normal and low"]),
  ];
}

function payloadOf({ class: named, command, args, queue, priority }: Task): JsonObject {
  return {
    ...(named == null ? { command: command ?? "" } : { class: named, args: argumentsOf(args) }),
    ...(queue == null ? {} : { queue }),
    ...(priority == null ? {} : { priority }),
  };
}
