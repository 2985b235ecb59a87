/** What a change lets everybody do, in the parts of a sentence. */
export interface OpenEffect {
  /** As a sentence lists them: read and list. */
  readonly verbs: string
  /** Of which objects. */
  readonly objects: string
  /** What limits it, in a sentence. */
  readonly limits?: string
}
