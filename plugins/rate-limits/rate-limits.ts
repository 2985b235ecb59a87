/** The service: limits of the settings, tokens in the shared memory of all threads of the node. */
import type { Clock, MaybePromise, Random, Threads } from 'svc/kernel'
import {
  networkOf,
  type RateLimitName,
  type RateLimitsService,
  type Refusal,
  type ThrottleKind,
} from 'svc/plugins/http/api'
import type { SignatureThrottle } from 'svc/plugins/iam/api'
import type { Settings } from 'svc/plugins/settings/api'
import type { RateLimitSettings } from './settings.ts'
import { type Rate, rateOf, TokenBuckets, tokenBucketsBytes } from './token-buckets.ts'
import { createWrongSignatures, refusingBytes } from './wrong-signatures.ts'

const kinds: Readonly<Record<RateLimitName, ThrottleKind>> = {
  s3_ip: 'ip',
  s3_access_key: 'user',
  s3_bucket: 'bucket',
  admin_ip: 'ip',
  admin_user: 'user',
}
const names = Object.keys(kinds) as readonly RateLimitName[]

/** Memory that all threads share. */
interface SharedBuckets {
  readonly memory: SharedArrayBuffer
  readonly refusing: SharedArrayBuffer
  readonly seeds: readonly [number, number]
}

interface Limit {
  readonly space: number
  readonly rate: Rate
}

export interface RateLimitsOptions {
  readonly settings: Settings<RateLimitSettings>
  readonly threads: Threads
  readonly clock: Clock
  readonly random: Random
}

export interface StartedRateLimits extends RateLimitsService {
  readonly wrongSignatures: SignatureThrottle
  /** Before the first request. */
  start(): Promise<void>
}

export function createRateLimits({ settings, threads, clock, random }: RateLimitsOptions): StartedRateLimits {
  let buckets: TokenBuckets
  let wrongSignatures: SignatureThrottle | undefined

  function open({ memory, refusing, seeds }: SharedBuckets): void {
    buckets = new TokenBuckets(memory, ...seeds)
    wrongSignatures = createWrongSignatures({
      refusing,
      buckets,
      keySpace: names.length + 1,
      networkSpace: names.length + 2,
      clock,
    })
  }

  if (threads.isMain) {
    const drawn = random.bytes(8)
    const seeds = [drawn.readInt32LE(0), drawn.readInt32LE(4)] as const
    // The main thread serves as well; it owns the shared memory.
    const shared: SharedBuckets = {
      memory: new SharedArrayBuffer(tokenBucketsBytes),
      refusing: new SharedArrayBuffer(refusingBytes),
      seeds,
    }
    open(shared)
    threads.handle('rate-limits.buckets', () => shared)
  }

  let known: RateLimitSettings | undefined
  let limits: Partial<Record<RateLimitName, Limit>> = {}

  function limitsOf(values: RateLimitSettings): typeof limits {
    if (values === known) return limits
    limits = {}
    for (const [space, name] of names.entries()) {
      const perSecond = values[name]
      if (perSecond > 0) limits[name] = { space, rate: rateOf(perSecond, values[`${name}_burst`] || perSecond) }
    }
    known = values
    return limits
  }

  function takeOf(values: RateLimitSettings, limitName: RateLimitName, name: string): Refusal | undefined {
    const limit = limitsOf(values)[limitName]
    if (limit === undefined) return undefined
    const kind = kinds[limitName]
    const waitNs = buckets.take(limit.space, kind === 'ip' ? networkOf(name) : name, limit.rate, clock.monotonicNs())
    return waitNs === 0n ? undefined : { kind, retryAfterSeconds: Math.ceil(Number(waitNs) / 1e9) }
  }

  return {
    take(limitName, name): MaybePromise<Refusal | undefined> {
      const values = settings.get()
      return values instanceof Promise
        ? values.then(read => takeOf(read, limitName, name))
        : takeOf(values, limitName, name)
    },
    limiter({ owner, kind, perSecond, burst }) {
      const rate = rateOf(perSecond, burst)
      return name => {
        const full = `${owner} ${kind === 'ip' ? networkOf(name) : name}`
        const waitNs = buckets.take(names.length, full, rate, clock.monotonicNs())
        return waitNs === 0n ? undefined : { kind, retryAfterSeconds: Math.ceil(Number(waitNs) / 1e9) }
      }
    },
    wrongSignatures: {
      guard: clientAddress => wrongSignatures?.guard(clientAddress),
      failed: (clientAddress, accessKey) => wrongSignatures?.failed(clientAddress, accessKey),
    },
    async start() {
      if (threads.isMain) return
      open(await threads.call<SharedBuckets>(0, 'rate-limits.buckets'))
    },
  }
}
