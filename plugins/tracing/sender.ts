/** What both protocols have in common. */

export type SendResult =
  | { readonly kind: 'taken'; readonly rejectedSpans: number; readonly message: string }
  /** Sending it again would not help. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The same may be taken later, not before `afterMs` where the collector says so. */
  | { readonly kind: 'unavailable'; readonly reason: string; readonly afterMs?: number }

export interface Sender {
  /** An ExportTraceServiceRequest. Never rejects. */
  send(request: Uint8Array): Promise<SendResult>
  /** Ends what is under way. Idempotent. */
  close(): Promise<void>
}

export interface SenderOptions {
  readonly endpoint: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** PEM file; empty: the usual authorities. */
  readonly authoritiesFile: string
}

/** Answers have some bytes; more is not read. */
export const answerBytesMax = 64 * 1024
