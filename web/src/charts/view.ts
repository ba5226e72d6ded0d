// The part of a run's time that its charts show: one for all charts of the run, so that they zoom together.

export class TimeView {
  from: number;
  to: number;
  private readonly listeners = new Set<() => void>();

  /** Times are nanoseconds since the start of the run. */
  constructor(
    readonly start: number,
    readonly end: number,
  ) {
    this.from = start;
    this.to = end;
  }

  /** The shortest part that can be shown: a second, or a tenth of a run that is not much longer. */
  get shortest(): number {
    return Math.min(1e9, (this.end - this.start) / 10);
  }

  get span(): number {
    return this.to - this.from;
  }

  get whole(): boolean {
    return this.from <= this.start && this.to >= this.end;
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  set(from: number, to: number): void {
    const span = Math.min(this.end - this.start, Math.max(this.shortest, to - from));
    // What was asked for stays in the middle when it was too short.
    let low = (from + to) / 2 - span / 2;
    low = Math.max(this.start, Math.min(this.end - span, low));
    if (low === this.from && low + span === this.to) return;
    this.from = low;
    this.to = low + span;
    for (const listener of this.listeners) listener();
  }

  /** Above 1 shows more detail; the point `about` stays where it is. */
  zoom(factor: number, about = (this.from + this.to) / 2): void {
    const span = Math.min(this.end - this.start, Math.max(this.shortest, this.span / factor));
    const share = this.span > 0 ? (about - this.from) / this.span : 0.5;
    const from = about - share * span;
    this.set(from, from + span);
  }

  /** Moves by a share of what is shown. */
  pan(share: number): void {
    const by = share * this.span;
    const low = Math.max(this.start, Math.min(this.end - this.span, this.from + by));
    this.set(low, low + this.span);
  }

  reset(): void {
    this.set(this.start, this.end);
  }
}
