import * as z from "zod";
import { keyShape } from "../schedule/schedule-key.ts";
import { storableText } from "../schedule/text.ts";
import { pageQuery } from "./query.ts";

export const listQuery = z.strictObject({
  prefix: storableText({ max: 255 }).optional(),
  group: keyShape.optional(),
  tag: keyShape.optional(),
  state: z.enum(["active", "paused", "ended"]).optional(),
  target: z.enum(["handler", "event", "queue", "webhook", "lambda"]).optional(),
  ...pageQuery,
});
