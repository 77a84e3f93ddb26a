/* labels.ts - the labels of all answers under one number each, so that pictures made of several answers agree. */

export class Labels {
  /** What is written. */
  readonly texts: string[] = [];
  /** What the other views call it: by this it is chosen, and has its colour. */
  readonly routines: string[] = [];
  /** Kind of frame, as in the view `profile`; null: it is no routine. */
  readonly frames: (string | null)[] = [];
  private readonly numbers = new Map<string, number>();

  number(text: string, frame: string | null, routine: string | null): number {
    const key = `${frame ?? ""}\n${routine ?? ""}\n${text}`;
    let number = this.numbers.get(key);
    if (number === undefined) {
      number = this.texts.length;
      this.numbers.set(key, number);
      this.texts.push(text);
      this.routines.push(routine ?? text);
      this.frames.push(frame);
    }
    return number;
  }
}
