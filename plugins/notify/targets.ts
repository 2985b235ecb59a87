/** All targets, in the main thread: follows the settings, says how they are, tests them. */
import type { Clock, Logger } from 'svc/kernel'
import type { QueueFamily } from 'svc/plugins/queue/api'
import { queueLimitDefault } from 'svc/plugins/settings/api'
import type { NotifyTargetState } from './api.ts'
import { arnOf, parseTargetId, type TargetName, targetId } from './arn.ts'
import { noTarget } from './errors.ts'
import { createLane, type TargetLane } from './lane.ts'
import type { MessagePlace } from './message.ts'
import { configuredTargets, type KindSettings } from './subsystems.ts'

export interface TargetsOptions {
  readonly family: QueueFamily
  /** Events since the start that found the lane full. */
  notQueued(lane: string): number
  readonly region: string
  readonly place: () => MessagePlace
  readonly clock: Clock
  readonly log: Logger
  onSent(target: string, count: number): void
  onFailed(target: string): void
}

export interface TestOutcome {
  readonly error: string | undefined
  readonly durationMs: number
}

export interface Targets {
  /** In every thread, before anything is asked. */
  use(kinds: ReadonlyMap<string, KindSettings>): void
  /** Connects what is enabled. */
  start(): Promise<void>
  stop(): Promise<void>
  states(): Promise<readonly NotifyTargetState[]>
  /** `mustBeEnabled`: a target that is not is an error of the test. Rejects with notify_target_not_found. */
  test(id: string, body: Buffer, mustBeEnabled: boolean): Promise<TestOutcome>
  /** Entries that a lane may have, whether its target is configured or not. Where the settings are not at hand, the default. */
  limitOf(lane: string): number
}

/** Of a test: the targets have their own, shorter ones. */
const testMs = 15_000
const unreadable = 'The stored settings cannot be read.'

export function createTargets(options: TargetsOptions): Targets {
  const { family, clock } = options
  const lanes = new Map<string, TargetLane>()
  const endings: (() => void)[] = []
  let kinds: ReadonlyMap<string, KindSettings> = new Map()
  let isStopped = false

  const laneOf = (name: TargetName, kindSettings: KindSettings): TargetLane => {
    const id = targetId(name)
    let lane = lanes.get(id)
    if (lane === undefined) {
      lane = createLane({ ...options, name, kindSettings })
      lanes.set(id, lane)
    }
    return lane
  }

  /** Undefined for what is not configured. */
  const find = async (id: string) => {
    const name = parseTargetId(id)
    const kindSettings = name && kinds.get(name.kind)
    if (name === undefined || kindSettings === undefined) return undefined
    const isConfigured = (await kindSettings.settings.list()).some(found => found.id === name.id)
    if (!isConfigured) return undefined
    return { name, kindSettings, values: await kindSettings.settings.get(name.id) }
  }

  const apply = async (name: TargetName, kindSettings: KindSettings): Promise<void> => {
    const found = await find(targetId(name))
    if (isStopped) return
    // With defaults in the place of what cannot be read, events would go elsewhere than they should.
    const isReadable = found !== undefined && (await kindSettings.settings.problem(name.id)) === undefined
    await laneOf(name, kindSettings).apply(isReadable ? found.values : undefined)
  }

  const describe = async (name: TargetName): Promise<NotifyTargetState> => {
    const kindSettings = kinds.get(name.kind)!
    const { settings, kind } = kindSettings
    const id = targetId(name)
    const values = await settings.get(name.id)
    const lane = laneOf(name, kindSettings)
    const state = lane.state()
    const { pending, deadLetters } = await family.status(id)
    const refused = options.notQueued(id)
    const problem = await settings.problem(name.id)
    const fullSentence = `The queue is full: ${refused} events since the start were only kept for a replay.`
    const errors = [
      ...(problem === undefined ? [] : [unreadable]),
      ...(state === undefined || state.lastError === '' ? [] : [state.lastError]),
      ...(refused > 0 && pending >= values.queue_limit ? [fullSentence] : []),
    ]
    return {
      id,
      kind: name.kind,
      arn: arnOf(name, options.region),
      isEnabled: values.enable,
      endpoint: kind.endpoint(values),
      isOnline: state?.online === true,
      pendingEvents: pending,
      deadLetters,
      failedTotal: lane.failedTotal,
      lastError: errors.join(' '),
      lastSuccessMs: lane.lastSuccessMs,
      queueLimit: values.queue_limit,
    }
  }

  return {
    use(given) {
      kinds = given
    },
    async start() {
      isStopped = false
      for (const kindSettings of kinds.values()) {
        endings.push(
          kindSettings.settings.watch(id => {
            const name = { kind: kindSettings.name, id }
            apply(name, kindSettings).catch(error => {
              options.log.error({ err: error, target: targetId(name) }, 'settings of a target could not be applied')
            })
          }),
        )
      }
      for (const name of await configuredTargets(kinds)) await apply(name, kinds.get(name.kind)!)
    },
    async stop() {
      isStopped = true
      for (const end of endings.splice(0)) end()
      await Promise.all([...lanes.values()].map(lane => lane.apply(undefined)))
    },
    async states() {
      const names = await configuredTargets(kinds)
      const states = await Promise.all(names.map(describe))
      return states.sort((a, b) => (a.id < b.id ? -1 : 1))
    },
    async test(id, body, mustBeEnabled) {
      const found = await find(id)
      if (found === undefined) throw noTarget(id)
      const { name, kindSettings, values } = found
      const startedNs = clock.monotonicNs()
      const end = (error: string | undefined): TestOutcome => ({
        error,
        durationMs: Math.round(Number(clock.monotonicNs() - startedNs) / 1e6),
      })
      if (mustBeEnabled && !values.enable) return end('The target is not enabled.')
      if ((await kindSettings.settings.problem(name.id)) !== undefined) return end(unreadable)
      const lane = laneOf(name, kindSettings)
      try {
        await lane.test(body, values, AbortSignal.timeout(testMs))
      } catch (error) {
        return end(error instanceof Error && error.message !== '' ? error.message : 'The test failed.')
      }
      lane.retryNow()
      return end(undefined)
    },
    limitOf(lane) {
      const name = parseTargetId(lane)
      const values = name && kinds.get(name.kind)?.settings.get(name.id)
      return values === undefined || values instanceof Promise ? queueLimitDefault : values.queue_limit
    },
  }
}

/** What a target gets instead of an event. `bucket` is empty for a test of the target alone. */
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
