/** The targets of events in the main thread: their states as operators see them, and their tests. */

import type { Clock } from 'svc/kernel'
import type { ConfiguredTarget, Targets } from 'svc/plugins/delivery/api'
import type { NotifyTarget, NotifyTargetState } from './api.ts'
import { arnOf } from './arn.ts'
import { noTarget } from './errors.ts'

export interface TargetStatesOptions {
  readonly targets: Targets<NotifyTarget>
  /** Events since the start that found the queue full. */
  notQueued(target: string): number
  region(): string
  readonly clock: Clock
}

export interface TestOutcome {
  readonly error: string | undefined
  /** It was delivered, and nobody gets it. */
  readonly warning: string | undefined
  readonly durationMs: number
}

export interface TargetStates {
  states(): Promise<readonly NotifyTargetState[]>
  /** `mustBeEnabled`: a test of a disabled target fails. Rejects with notify_target_not_found. */
  test(id: string, body: Buffer, mustBeEnabled: boolean): Promise<TestOutcome>
}

/** Of a test: the targets have their own, shorter ones. */
const testMs = 15_000
const unreadable = 'The stored settings cannot be read.'

export function createTargetStates({ targets, notQueued, region, clock }: TargetStatesOptions): TargetStates {
  /** When a test event of a target arrived last. */
  const tested = new Map<string, number>()
  const test = async (
    target: ConfiguredTarget,
    body: Buffer,
    mustBeEnabled: boolean,
  ): Promise<Omit<TestOutcome, 'durationMs'>> => {
    const { values, isReadable } = target
    const failed = (error: string) => ({ error, warning: undefined })
    if (mustBeEnabled && !values.enable) return failed('The target is not enabled.')
    if (!isReadable) return failed(unreadable)
    let warning: string | undefined
    const delivery = targets.deliveryOf(target)
    try {
      await delivery.use(values, async connected => {
        warning = (await connected.test(body, AbortSignal.timeout(testMs))) ?? undefined
      })
    } catch (error) {
      return failed(error instanceof Error && error.message !== '' ? error.message : 'The test failed.')
    }
    tested.set(target.id, clock.now())
    delivery.retryNow()
    return { error: undefined, warning }
  }

  return {
    async states() {
      return (await targets.states()).map(({ name, values, isReadable, pending: pendingEvents, ...state }) => {
        const refused = notQueued(state.id)
        const isFull = refused > 0 && pendingEvents >= values.queue_limit
        const errors = [
          isReadable ? '' : unreadable,
          state.lastError,
          isFull ? `The queue is full: ${refused} events since the start were only kept for a replay.` : '',
        ]
        return {
          ...state,
          lastSuccessMs: latest(state.lastSuccessMs, tested.get(state.id)),
          kind: name.kind,
          arn: arnOf(name, region()),
          isEnabled: values.enable,
          pendingEvents,
          lastError: errors.filter(error => error !== '').join(' '),
          queueLimit: values.queue_limit,
        }
      })
    },
    async test(id, body, mustBeEnabled) {
      const target = (await targets.configured()).find(configured => configured.id === id)
      if (target === undefined) throw noTarget(id)
      const startedNs = clock.monotonicNs()
      const outcome = await test(target, body, mustBeEnabled)
      return { ...outcome, durationMs: Math.round(Number(clock.monotonicNs() - startedNs) / 1e6) }
    },
  }
}

function latest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other)
}

/** A test message. `bucket` is empty for a test of the target alone. */
export function testBody(test: { bucket: string; requestId: string; timeMs: number; node: string }): Buffer {
  return Buffer.from(
    JSON.stringify({
      Service: 'svc',
      Event: 's3:TestEvent',
      Time: new Date(test.timeMs).toISOString(),
      Bucket: test.bucket,
      RequestId: test.requestId,
      HostId: test.node,
    }),
  )
}
