/** The interface of both protocols. */

export type SendResult =
  | { readonly kind: 'taken'; readonly rejectedSpans: number; readonly message: string }
  /** Sending it again would not help. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The collector may accept the batch later, not before `afterMs` if it says so. */
  | { readonly kind: 'unavailable'; readonly reason: string; readonly afterMs?: number }

export interface Sender {
  /** An ExportTraceServiceRequest. Never rejects. */
  send(request: Uint8Array): Promise<SendResult>
  /** Aborts the current request. Idempotent. */
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
