import { z } from "zod";
import { type Schema, schemaOf } from "./schema.ts";
import { type Direction, schemaBreaks } from "./schema-breaks.ts";

const schema = z.record(z.string(), z.unknown());
const content = z.record(z.string(), z.object({ schema })).default({});
const response = z.object({
  $ref: z.string().optional(),
  headers: z.record(z.string(), z.unknown()).default({}),
  content,
});
const operation = z.object({
  operationId: z.string(),
  security: z.array(z.unknown()).optional(),
  parameters: z
    .array(z.object({ name: z.string(), in: z.string(), required: z.boolean().default(false), schema }))
    .default([]),
  requestBody: z.object({ required: z.boolean().default(false), content }).optional(),
  responses: z.record(z.string(), response),
});

/** The parts of an OpenAPI document that clients rely on. */
export const apiDocument = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({
    schemas: z.record(z.string(), schema),
    responses: z.record(z.string(), response),
  }),
});
export type ApiDocument = z.output<typeof apiDocument>;
type Operation = z.output<typeof operation>;
type Response = z.output<typeof response>;
type Content = z.output<typeof content>;

/** A change by which a client of the release would fail, or would not understand. */
export interface Break {
  /** An operation such as `PUT /v1/schedules/{key}`, or the name of a shared schema. */
  readonly id: string;
  readonly why: string;
}

interface Documents {
  released: ApiDocument;
  present: ApiDocument;
  compare(released: Schema, present: Schema, path: string, direction: Direction): string[];
}

/** Changes between the documents by which a client of the released API would fail. */
export function documentBreaks(released: ApiDocument, present: ApiDocument): Break[] {
  const waiting = new Map<string, { name: string; direction: Direction }>();
  const compare: Documents["compare"] = (before, after, path, direction) =>
    schemaBreaks(before, after, path, {
      direction,
      released: (name) => schemaOf(released.components.schemas[name]),
      present: (name) => schemaOf(present.components.schemas[name]),
      shared: (name) => waiting.set(`${name} ${direction}`, { name, direction }),
    });
  const documents = { released, present, compare };
  const operations = Object.entries(released.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, before]) => {
      const id = `${method.toUpperCase()} ${path}`;
      const after = present.paths[path]?.[method];
      const faults = after === undefined ? ["is removed"] : operationBreaks(before, after, documents);
      return faults.map((fault) => ({ id, why: `${id}: ${fault}` }));
    }),
  );
  // The comparison of a shared schema may add others, which the loop reaches too.
  const schemas: Break[] = [];
  for (const { name, direction } of waiting.values()) {
    const [before, after] = [released.components.schemas[name], present.components.schemas[name]];
    const faults = compare(schemaOf(before), schemaOf(after), name, direction);
    schemas.push(
      ...faults.map((fault) => ({
        id: name,
        why: `in a${direction === "request" ? "" : "n"} ${direction}: ${fault}`,
      })),
    );
  }
  return [...operations, ...schemas];
}

function operationBreaks(before: Operation, after: Operation, documents: Documents): string[] {
  return [
    ...(before.operationId === after.operationId ? [] : ["has another operationId"]),
    ...(before.security?.length === 0 && after.security?.length !== 0 ? ["now needs a token"] : []),
    ...parameterBreaks(before, after, documents),
    ...bodyBreaks(before, after, documents),
    ...answerBreaks(before, after, documents),
  ];
}

function parameterBreaks(before: Operation, after: Operation, { compare }: Documents): string[] {
  const now = new Map(after.parameters.map((each) => [`${each.in} ${each.name}`, each]));
  const known = new Map(before.parameters.map((each) => [`${each.in} ${each.name}`, each]));
  const changed = [...known].flatMap(([name, each]) => {
    const other = now.get(name);
    return other === undefined
      ? [`${name} is no longer taken`]
      : compare(each.schema, other.schema, name, "request");
  });
  const required = [...now]
    .filter(([name, each]) => each.required && known.get(name)?.required !== true)
    .map(([name]) => `${name} is now required`);
  return [...changed, ...required];
}

function bodyBreaks(before: Operation, after: Operation, { compare }: Documents): string[] {
  const [was, is] = [before.requestBody, after.requestBody];
  const required = is?.required === true && was?.required !== true ? ["body is now required"] : [];
  if (was === undefined) return required;
  if (is === undefined) return ["body is no longer taken"];
  return [
    ...required,
    ...contentBreaks(was.content, is.content, "body", (...parts) => compare(...parts, "request")),
  ];
}

function answerBreaks(before: Operation, after: Operation, documents: Documents): string[] {
  const { released, present, compare } = documents;
  const removed = successesOf(before).filter((status) => !(status in after.responses));
  const added = successesOf(after).filter((status) => !(status in before.responses));
  const changed = Object.entries(before.responses).flatMap(([status, response]) => {
    const other = after.responses[status];
    if (other === undefined) return [];
    const [was, is] = [answerOf(response, released), answerOf(other, present)];
    const headers = Object.keys(was.headers)
      .filter((name) => !(name in is.headers))
      .map((name) => `${status} has no longer the header ${name}`);
    return [
      ...headers,
      ...contentBreaks(was.content, is.content, status, (...parts) => compare(...parts, "answer")),
    ];
  });
  return [
    ...removed.map((status) => `no longer answers ${status}`),
    ...added.map((status) => `may answer ${status}`),
    ...changed,
  ];
}

const successesOf = ({ responses }: Operation) => Object.keys(responses).filter((status) => status < "400");

function contentBreaks(
  before: Content,
  after: Content,
  path: string,
  compare: (released: Schema, present: Schema, path: string) => string[],
): string[] {
  return Object.entries(before).flatMap(([type, { schema }]) => {
    const other = after[type];
    return other === undefined ? [`${path} is no longer ${type}`] : compare(schema, other.schema, path);
  });
}

/** The response itself, also where the operation refers to a shared one. */
function answerOf(response: Response, { components }: ApiDocument): Response {
  const name = response.$ref?.split("/").at(-1);
  return name === undefined ? response : (components.responses[name] ?? response);
}
