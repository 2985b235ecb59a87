/**
 * Delivery: messages to targets outside that operators configure, each through a queue of its own. `notify` and `audit` share these
 * functions and types; no plugin is loaded for them.
 */
import type { Logger, ObjectOf } from 'svc/kernel'
import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type TObject, Type } from 'typebox'

export { PermanentDeliveryError } from 'svc/plugins/queue/api'
export { type Attempts, createAttempts, reasonOf } from './attempt.ts'
export { createLossLog, type LossLog } from './loss-log.ts'
export { type ConfiguredTarget, createTargets, parseTargetId, type Targets, type TargetsOptions } from './targets.ts'

/** A target that is configured and enabled. */
export interface Target<Message> {
  /** Maximum number of messages per call of `send`. Default 1. */
  readonly batchMax?: number
  /** Maximum number of concurrent calls of `send`. No key is in two of them. Default 1. */
  readonly concurrency?: number
  /**
   * Resolves when the target has every message for good. Connects when it is not connected, always within the timeout of the settings
   * and no longer than `signal` lasts. A rejection is tried again without end, except `PermanentDeliveryError` for messages that the
   * target will never take: they become dead letters. Operators see the message of the error: it says what to look at, without secrets.
   */
  send(messages: readonly Message[], signal: AbortSignal): Promise<void>
  /** Closes connections. Resolves within a second. No `send` follows. Idempotent. */
  close(): Promise<void>
}

export interface TargetContext {
  /** The name of this target among the targets of its kind: `_` if the operator gave none. */
  readonly id: string
  readonly log: Logger
}

/** A kind of target; its id in the extension point is part of the name of its settings. Contributed in every thread. */
export interface TargetKind<Schema extends TObject, AnyTarget> {
  readonly description: string
  /**
   * The keys of its settings, as `SubsystemDeclaration.keys` says; `enable`, `queue_limit`, `queue_dir` and `comment` are added to
   * them.
   */
  readonly settings: Schema
  /** Called for enabled targets only. */
  validate?(settings: ObjectOf<Schema>, id: string): readonly SettingsProblem[]
  /** The destination in a form to be shown: without user, password or query. Empty if it is not set. */
  endpoint(settings: ObjectOf<Schema>): string
  /** In the main thread, when a target is enabled or its settings change. Neither waits nor throws: `send` connects. */
  connect(settings: ObjectOf<Schema>, context: TargetContext): AnyTarget
}

// biome-ignore lint/suspicious/noExplicitAny: each kind has its own settings, which only it and the schema know
export type AnyTargetKind<AnyTarget> = TargetKind<any, AnyTarget>

/** `webhook` and `_`, in the settings `notify_webhook` */
export interface TargetName {
  readonly kind: string
  readonly id: string
}

/** One target: its connection, its queue and their state. In the main thread. */
export interface TargetDelivery<AnyTarget> {
  /** The id of the target and the name of its queue: `webhook:_` */
  readonly id: string
  /** Undefined while the target is not connected. */
  readonly target: AnyTarget | undefined
  /** Maximum number of entries in its queue, from the settings with which the target was last connected. */
  readonly queueLimit: number
  /** Both count messages and attempts that did not go through the queue. */
  onSent(count: number): void
  onFailed(reason: string): void
}

/** A way to a target in front of its queue, with messages in memory. */
export interface DirectWay {
  /** Number of messages in memory. */
  readonly pending: number
  /** Called after the target was connected and the delivery of its queue has begun. */
  open(): void
  /** Called before the target is closed. Resolves when no attempt is under way. Messages stay in memory. */
  close(): Promise<void>
  /** Called when the target was disabled or the server stops. Moves the messages into the queue. */
  moveToQueue(): Promise<void>
}

const method = Type.Function([], Type.Unknown())

/** The schema of an extension point for kinds of targets. */
export const targetKindSchema = (description: string) =>
  Type.Object(
    {
      description: Type.String({ minLength: 1 }),
      settings: Type.Object({ type: Type.Literal('object') }),
      validate: Type.Optional(method),
      endpoint: method,
      connect: method,
    },
    { description },
  )
