/** The part of cli-progress that is used here; the package comes without types. */
declare module 'cli-progress' {
  export interface Options {
    readonly format: string
    readonly stream: NodeJS.WritableStream
    readonly hideCursor: boolean
    readonly clearOnComplete: boolean
    readonly barsize: number
    readonly barCompleteChar: string
    readonly barIncompleteChar: string
    /** Redraws per second. */
    readonly fps: number
    readonly gracefulExit: boolean
  }
  export class SingleBar {
    constructor(options: Options)
    start(total: number, value: number, payload: Readonly<Record<string, string>>): void
    update(value: number, payload: Readonly<Record<string, string>>): void
    setTotal(total: number): void
    stop(): void
  }
}
