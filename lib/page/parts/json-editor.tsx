import { json } from "@codemirror/lang-json";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { tags } from "@lezer/highlight";
import { EditorView, minimalSetup } from "codemirror";
import { useEffect, useEffectEvent, useRef } from "react";
import type { TextRange } from "../data/document/json-text.ts";

interface JsonEditorProps {
  /** The name by which its place is found. */
  name: string;
  label: string;
  text: string;
  marks: readonly (TextRange & { message: string })[];
  onChange(text: string): void;
}

/**
 * An editor of JSON. It lives in a shadow root, whose adopted style sheets the Content-Security-Policy
 * allows; in the document it would add `<style>` elements. Tab leaves it, as it leaves any field.
 */
export function JsonEditor({ name, label, text, marks, onChange }: JsonEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const begin = useEffectEvent(() => text);
  const change = useEffectEvent(onChange);
  useEffect(() => {
    if (host.current === null) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    const made = new EditorView({
      doc: begin(),
      parent: root,
      root,
      extensions: [
        minimalSetup,
        json(),
        bracketMatching(),
        syntaxHighlighting(colours),
        theme,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) change(state.doc.toString());
        }),
      ],
    });
    view.current = made;
    return () => made.destroy();
  }, [label]);
  useEffect(() => {
    const shown = view.current?.state.doc.toString();
    if (shown !== undefined && shown !== text)
      view.current?.dispatch({ changes: changeBetween(shown, text) });
  }, [text]);
  useEffect(() => {
    const current = view.current;
    if (current === null) return;
    const end = current.state.doc.length;
    const diagnostics = marks.map(
      ({ from, to, message }): Diagnostic => ({
        from: Math.min(from, end),
        to: Math.min(to, end),
        message,
        severity: "error",
      }),
    );
    current.dispatch(setDiagnostics(current.state, diagnostics));
  }, [marks]);
  return <div ref={host} className="json-editor" data-field={name} />;
}

/** The smallest change, so that the cursor and the undo history stay where they are. */
function changeBetween(before: string, after: string): { from: number; to: number; insert: string } {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from += 1;
  let same = 0;
  while (same < shorter - from && before.at(-1 - same) === after.at(-1 - same)) same += 1;
  return { from, to: before.length - same, insert: after.slice(from, after.length - same) };
}

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--ok-text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn-text)" },
  { tag: tags.separator, color: "var(--ink-2)" },
]);

const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--panel)", fontSize: "12.5px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px", borderRadius: "6px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { padding: "12px 8px", caretColor: "var(--ink)", minHeight: "72px" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px",
  },
  ".cm-lintPoint-error:after": { borderBottomColor: "var(--bad)" },
  ".cm-tooltip": {
    color: "var(--ink)",
    backgroundColor: "var(--panel)",
    border: "1px solid var(--line-strong)",
  },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
});
