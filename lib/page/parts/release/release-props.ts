/** The texts of a button that releases, and of its dialog. */
export interface ReleaseProps {
  button: string;
  title: string;
  onOpenChange?: ((isOpen: boolean) => void) | undefined;
}

/** The hold in the sentence on what was done. */
export const holdText = (owner: string, ownOwner: string | undefined) =>
  owner === ownOwner ? "Your hold" : `The hold of “${owner}”`;
