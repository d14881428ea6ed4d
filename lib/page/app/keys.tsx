import { Dialog } from "@base-ui/react/dialog";
import { useEffect, useEffectEvent, useId, useState } from "react";
import { useSession } from "../hooks/session-context.ts";
import { moveInRows } from "./row-keys.ts";
import { keepTheme, keptTheme, type Theme, themes } from "./theme.ts";
import "../look/dialog.css";

const keys = [
  ["Ctrl K", "go to a key, a job, a view"],
  ["j", "the next row"],
  ["k", "the row before"],
  ["Enter", "open the row"],
  ["?", "these keys"],
  ["Esc", "close a dialog"],
] as const;

const storageKey = "carillon.single-keys";

/** `?` lists the keys. The dialog has the page's few settings too. */
export function Keys() {
  const [isOpen, setOpen] = useState(false);
  const [isOn, setOn] = useState(() => localStorage.getItem(storageKey) !== "off");
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (!isOn || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    if (document.querySelector("[role=dialog], [role=alertdialog]") !== null) return;
    if (event.key === "?") setOpen(true);
    else if (event.key === "j") moveInRows(1);
    else if (event.key === "k") moveInRows(-1);
    else return;
    event.preventDefault();
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => onKey(event);
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  const turn = (on: boolean) => {
    localStorage.setItem(storageKey, on ? "on" : "off");
    setOn(on);
  };
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Trigger className="button keys-button" aria-label="Keys and settings">
        ?
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">Keys and settings</Dialog.Title>
          <dl className="keys">
            {keys.map(([key, does]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
          <label className="check">
            <input type="checkbox" checked={isOn} onChange={(event) => turn(event.target.checked)} />
            Keys without Ctrl, such as j and k
          </label>
          <ThemeSwitch />
          <Foot />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Whether a letter belongs to a field. Outside of its shadow root, the JSON editor is no field. */
function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  return (
    target instanceof HTMLElement && (target.isContentEditable || target.matches("input, select, textarea"))
  );
}

function ThemeSwitch() {
  const [theme, setTheme] = useState(keptTheme);
  const name = useId();
  const choose = (chosen: Theme) => {
    keepTheme(chosen);
    setTheme(chosen);
  };
  return (
    <fieldset className="themes">
      <legend>Theme</legend>
      {themes.map((each) => (
        <label key={each} className="check">
          <input type="radio" name={name} checked={theme === each} onChange={() => choose(each)} />
          {each}
        </label>
      ))}
    </fieldset>
  );
}

function Foot() {
  const { signOut } = useSession();
  return (
    <footer>
      <button type="button" className="button" onClick={signOut}>
        Sign out
      </button>
      <Dialog.Close className="button primary">Close</Dialog.Close>
    </footer>
  );
}
