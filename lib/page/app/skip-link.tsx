import type { MouseEvent } from "react";

/** The element that holds the view. */
export const contentId = "main";

export const contentElement = () => document.getElementById(contentId);

export const focusContent = () => contentElement()?.focus();

/** Goes past the bar with the keyboard. Its address alone would lead to the root, by the document's base. */
export function SkipLink() {
  const skip = (event: MouseEvent) => {
    event.preventDefault();
    focusContent();
  };
  return (
    <a className="skip-link" href={`#${contentId}`} onClick={skip}>
      Skip to the content
    </a>
  );
}
