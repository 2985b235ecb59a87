/**
 * Notify: sends events about objects to targets outside, as the rules of buckets say. An event is queued in the commit of the change
 * that it reports: a crash loses none, and none is sent for a change that did not happen. A plugin that contributes to the public
 * extension point `notify.target` implements a kind of target: see examples/plugin-notify.
 */
import type { Target, TargetKind } from 'svc/plugins/delivery/api'
import type { DeadLetterCount, DeadLetterSelection } from 'svc/plugins/queue/api'
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
  /** Not URL-encoded. */
  readonly key: string
  /** The object or version was removed: a table of objects deletes its row. */
  readonly isRemoval: boolean
  /** 18 hexadecimal digits; larger for later events of a key. With bucket and key it identifies duplicates. */
  readonly sequencer: string
  /** The event in the format of AWS: the element of `Records` in the body. */
  readonly record: Readonly<Record<string, unknown>>
  /** The whole message as JSON in UTF-8, as a webhook or a topic gets it. */
  readonly body: Buffer
}

/**
 * A target that is configured and enabled. `send` delivers messages with the same object key in their order; no key is in two calls at
 * once. See `Target` and `TargetKind` in `plugins/delivery/api.ts` for every member.
 */
export interface NotifyTarget extends Target<NotifyMessage> {
  /**
   * Delivers a test message. A target that keeps a table of objects only checks that it could. Resolves with a warning where the destination has
   * taken the message and nobody gets it: a sentence without secrets.
   */
  test(body: Buffer, signal: AbortSignal): Promise<string | undefined | void>
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
  /** Of a delivery, or of a test; undefined when none has failed since the last success. */
  readonly lastErrorMs: number | undefined
  /** Of an event, or of a test. */
  readonly lastSuccessMs: number | undefined
  readonly queueLimit: number
}

/** The queue of a target, which may have been removed. */
export interface NotifyQueueState {
  /** Of the target: `webhook:_` */
  readonly id: string
  /** `unloaded`: the target has settings, and no loaded plugin implements its kind. `removed`: it has no settings. */
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
  /** Failed attempts since its delivery began. */
  readonly attempts: number
  readonly queuedMs: number
  readonly givenUpMs: number
  /** Undefined when the stored event is damaged. */
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
  /** By id; disabled targets included. */
  targets(): Promise<readonly NotifyTargetState[]>
  /** Delivers a test event at once, past the queue. `error` and `warning`: sentences without secrets, or undefined. */
  test(id: string): Promise<{
    readonly error: string | undefined
    readonly warning: string | undefined
    readonly durationMs: number
  }>
  /** Queues events of the outbox again. Resolves with their number, once all of them are queued. */
  replay(request: ReplayRequest): Promise<number>
  /** By id: the queues of all configured targets, and other queues with events or dead letters. */
  queues(): Promise<readonly NotifyQueueState[]>
  /** Deletes the events and dead letters of a removed target. Resolves with how many. */
  discardQueue(id: string): Promise<number>
  /** As they were given up, those after the id `startAfter` (empty: all), at most 1000. The end is an empty answer. */
  deadLetters(
    id: string,
    page: { readonly startAfter: string; readonly limit: number },
  ): Promise<readonly NotifyDeadLetter[]>
  countDeadLetters(id: string): Promise<DeadLetterCount>
  /** Queues dead letters of a configured target again. `left`: how many it has afterwards. */
  retryDeadLetters(id: string, which: DeadLetterSelection): Promise<{ readonly queued: number; readonly left: number }>
  /** Deletes dead letters. `left`: how many there are afterwards. */
  discardDeadLetters(
    id: string,
    which: DeadLetterSelection,
  ): Promise<{ readonly discarded: number; readonly left: number }>
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
