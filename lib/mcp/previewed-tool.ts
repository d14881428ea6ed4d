import * as z from "zod";
import { CarillonUnreachable } from "../client/main.ts";
import { isPassing, type Told } from "./answer.ts";
import type { Confirmations, Previewed } from "./confirmations.ts";
import { changingTool, type Tool, type ToolCall, type ToolSpec } from "./tool.ts";

/** A preview, and its change; null if nothing would change. */
export interface Foreseen extends Told {
  act: Previewed["act"] | null;
}

export interface PreviewedSpec<Input extends z.ZodObject> extends Omit<ToolSpec<Input>, "run"> {
  /** Reads only. */
  preview(given: z.output<Input>, call: ToolCall): Promise<Foreseen>;
}

const confirm = z
  .string()
  .optional()
  .describe("The token of the preview. Leave it out to get the preview; nothing is changed then.");

/** Makes the tool of a change: its first call previews, a second one with the token acts. */
export type MakePreviewed = (confirmations: Confirmations) => Tool;

export function previewedTool<Input extends z.ZodObject>(spec: PreviewedSpec<Input>): MakePreviewed {
  const { name, title, description, input, preview } = spec;
  return (confirmations) =>
    changingTool({
      name,
      title,
      description: `${description} The first call changes nothing: it answers a preview and a token. The same call with the token as \`confirm\` makes exactly that change.`,
      input: input.safeExtend({ confirm }),
      run: async (call, parts) => {
        const { confirm: token, ...rest } = call;
        const given = input.parse(rest);
        if (typeof token === "string") return confirmed(confirmations, { name, token, given }, parts.signal);
        const { act, lines, data } = await preview(given, parts);
        if (act === null)
          return {
            lines: [...lines, "Nothing would change, so there is nothing to confirm."],
            data: { wouldChange: false, preview: data },
          };
        const issued = confirmations.issue({ tool: name, given, act });
        return {
          lines: [
            "PREVIEW: nothing was changed.",
            ...lines,
            `To do it, call ${name} again with the same arguments and confirm "${issued.confirm}", until ${issued.expiresAt}.`,
          ],
          data: { wouldChange: true, preview: data, ...issued },
        };
      },
    });
}

async function confirmed(
  confirmations: Confirmations,
  { name, token, given }: { name: string; token: string; given: object },
  signal: AbortSignal,
): Promise<Told> {
  const previewed = confirmations.take(token, name, given);
  try {
    return await previewed.act(token, signal);
  } catch (error) {
    // Also after a cancelled call: whether the server has made the change is not known.
    if (error instanceof CarillonUnreachable || signal.aborted || isPassing(error))
      confirmations.giveBack(token);
    throw error;
  }
}
