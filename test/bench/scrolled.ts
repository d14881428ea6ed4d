export interface Scrolled {
  rows: number;
  frames: number;
  /** Frames that took longer than two of the screen's. */
  dropped: number;
  longestMs: number;
}
