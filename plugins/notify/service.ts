/** The service: targets and the outbox are in the main thread; other threads call it. */
import type { Clock, Logger, Random, Threads } from 'svc/kernel'
import type { NotifyService, NotifyTargetState, ReplayRequest } from './api.ts'
import { noTarget, notifyErrors } from './errors.ts'
import type { Outbox } from './outbox.ts'
import type { NotifyQueues } from './queues.ts'
import { type ReplayOptions, replay } from './replay.ts'
import { type TargetStates, type TestOutcome, testBody } from './targets.ts'

export interface ServiceOptions {
  readonly threads: Threads
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly node: string
  readonly targets: TargetStates
  readonly outbox: Outbox | undefined
  readonly replay: Omit<ReplayOptions, 'outbox' | 'clock'>
  readonly queues: NotifyQueues
}

/** A test of a target; with a bucket, for its rules. */
export interface TargetTest {
  readonly id: string
  readonly bucket: string
  readonly requestId: string
  readonly mustBeEnabled: boolean
}

export interface CreatedService {
  readonly service: NotifyService
  test(test: TargetTest): Promise<TestOutcome>
  /** Ends running replays. */
  stop(): void
}

const main = 0
const message = { targets: 'notify.targets', test: 'notify.test', replay: 'notify.replay' } as const

/** During set-up, in every thread. */
export function createService(options: ServiceOptions): CreatedService {
  const { threads, clock, random, log, node, targets, outbox } = options
  const stopping = new AbortController()
  const replaying = new Set<string>()

  const runReplay = async (request: ReplayRequest): Promise<number> => {
    const { target } = request
    if (outbox === undefined) throw notifyErrors.notify_outbox_disabled()
    if (!(await targets.states()).some(({ id }) => id === target)) throw noTarget(target)
    if (replaying.has(target)) throw notifyErrors.conflict()
    replaying.add(target)
    try {
      // Up to now: later events are queued by their commits.
      const toMs = Math.min(request.toMs, clock.now() + 1)
      const queued = await replay({ ...request, toMs }, { ...options.replay, outbox, clock }, stopping.signal)
      log.info({ ...request, toMs, queued }, 'events were queued again')
      return queued
    } finally {
      replaying.delete(target)
    }
  }

  const test = ({ id, bucket, requestId, mustBeEnabled }: TargetTest) =>
    targets.test(id, testBody({ bucket, requestId, timeMs: clock.now(), node }), mustBeEnabled)

  if (threads.isMain) {
    threads.handle(message.targets, () => targets.states())
    threads.handle(message.test, test)
    threads.handle(message.replay, runReplay)
  }

  const ask = (asked: TargetTest) => threads.call<TestOutcome>(main, message.test, asked)

  return {
    service: {
      targets: () => threads.call<readonly NotifyTargetState[]>(main, message.targets),
      test(id) {
        const requestId = random.bytes(8).toString('hex').toUpperCase()
        return ask({ id, bucket: '', requestId, mustBeEnabled: false })
      },
      replay: request => threads.call<number>(main, message.replay, request),
      ...options.queues,
    },
    test: ask,
    stop: () => stopping.abort(new Error('The server is stopping.')),
  }
}
