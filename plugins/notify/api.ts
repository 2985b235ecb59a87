/**
 * Notify: tells destinations outside what happened to objects, as the rules of buckets ask for. An event is queued in the commit
 * of the change that it tells of, so that none is lost by a crash and none is sent for what did not happen. How a kind of
 * destination is reached is the business of a plugin that contributes to `notify.target`, which is public: see
 * examples/plugin-notify.
 */
import type { Target, TargetKind } from 'svc/plugins/delivery/api'
import type { TObject } from 'typebox'

export {
  type Attempts,
  createAttempts,
  PermanentDeliveryError,
  reasonOf,
  type TargetContext as NotifyTargetContext,
} from 'svc/plugins/delivery/api'
export * from './bucket-notifications.ts'
export { notifyErrors } from './errors.ts'

/** One event, as it goes out. */
export interface NotifyMessage {
  /** `s3:ObjectCreated:Put` */
  readonly eventName: string
  /** ISO 8601, UTC. */
  readonly eventTime: string
  readonly bucket: string
  /** As it is, not URL-encoded. */
  readonly key: string
  /** The object or version is gone: whoever keeps a table of objects deletes its row. */
  readonly isRemoval: boolean
  /** Larger is later, for one key: 18 hexadecimal digits. Destinations that know duplicates may use it with bucket and key. */
  readonly sequencer: string
  /** The record of AWS: what `Records` of the body has. */
  readonly record: Readonly<Record<string, unknown>>
  /** The whole message as JSON in UTF-8: what a webhook or a topic gets. */
  readonly body: Buffer
}

/**
 * A target that is configured and enabled. `send` delivers messages with the same object key in their order; no key is in two calls at
 * once. See `Target` and `TargetKind` in `plugins/delivery/api.ts` for every member.
 */
export interface NotifyTarget extends Target<NotifyMessage> {
  /** Delivers a test message. A target that keeps a table of objects only checks that it could. */
  test(body: Buffer, signal: AbortSignal): Promise<void>
}

/** A kind of target; its id in the extension point (`webhook`) makes the subsystem `notify_webhook`. Contributed in every thread. */
export interface NotifyTargetKind<Schema extends TObject = TObject> extends TargetKind<Schema, NotifyTarget> {}

export interface NotifyTargetState {
  /** `webhook:_` */
  readonly id: string
  readonly kind: string
  /** `arn:svc:sqs:us-east-1:_:webhook` */
  readonly arn: string
  readonly isEnabled: boolean
  readonly endpoint: string
  /** No failed delivery since the last success. */
  readonly isOnline: boolean
  readonly pendingEvents: number
  readonly deadLetters: number
  readonly failedTotal: number
  /** Empty when there is none. */
  readonly lastError: string
  readonly lastSuccessMs: number | undefined
  readonly queueLimit: number
}

/** Where events wait for a target, which may be there no more. */
export interface NotifyQueueState {
  /** Of the target: `webhook:_` */
  readonly id: string
  /** `unloaded`: it has settings, and no plugin that is loaded knows its kind. `removed`: it has none. */
  readonly target: 'configured' | 'unloaded' | 'removed'
  readonly pendingEvents: number
  readonly pendingBytes: number
  readonly deadLetters: number
}

/** An event that a target will never take. */
export interface NotifyDeadLetter {
  /** 20 hexadecimal digits; later ones are larger. */
  readonly id: string
  /** Of the target. */
  readonly target: string
  /** Without secrets. */
  readonly reason: string
  /** Failed ones since its delivery began. */
  readonly attempts: number
  readonly queuedMs: number
  readonly givenUpMs: number
  /** Undefined where what is stored is damaged. */
  readonly event:
    | { readonly name: string; readonly timeMs: number; readonly bucket: string; readonly key: string }
    | undefined
}

export interface ReplayRequest {
  /** `webhook:_` */
  readonly target: string
  readonly bucket: string
  readonly prefix: string
  /** Milliseconds since 1970: fromMs <= t < toMs. */
  readonly fromMs: number
  readonly toMs: number
}

/** Everything rejects with `notifyErrors`. */
export interface NotifyService {
  /** By id; disabled ones included. */
  targets(): Promise<readonly NotifyTargetState[]>
  /** Delivers a test event at once, past the queue. Resolves with why it failed, as a sentence without secrets; undefined where it did not. */
  test(id: string): Promise<{ readonly error: string | undefined; readonly durationMs: number }>
  /** Queues again what the outbox still has. Resolves with how many events, once all of them are queued. */
  replay(request: ReplayRequest): Promise<number>
  /** By id: of all targets that are configured, and of others that have left events or dead letters. */
  queues(): Promise<readonly NotifyQueueState[]>
  /** Deletes what waits for a target that is removed, and its dead letters. Resolves with how many. */
  discardQueue(id: string): Promise<number>
  /** Oldest first, those after the id `startAfter` (empty: all), at most 1000. The end is an empty answer. */
  deadLetters(
    id: string,
    page: { readonly startAfter: string; readonly limit: number },
  ): Promise<readonly NotifyDeadLetter[]>
  /** Queues dead letters of a target that is configured again: all that there are, or those with these ids. Resolves with how many. */
  retryDeadLetters(id: string, ids?: readonly string[]): Promise<number>
  /** Deletes dead letters: all that there are, or those with these ids. Resolves with how many. */
  discardDeadLetters(id: string, ids?: readonly string[]): Promise<number>
}

declare module 'svc/kernel' {
  interface Services {
    notify: NotifyService
  }
  interface ExtensionPoints {
    // biome-ignore lint/suspicious/noExplicitAny: each kind has its own settings, which only it and the schema know
    'notify.target': NotifyTargetKind<any>
  }
}
