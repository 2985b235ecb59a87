/**
 * Who has sent too many wrong signatures: whoever knows an access key could otherwise try secrets as fast as the server answers, and the
 * secret of a user is the password of the console. Counted per network and access key, and per network with any; an access key alone is
 * never refused, or anybody could lock its owner out. The counts are those of all threads.
 */
import type { Clock } from 'svc/kernel'
import { type NetworkBits, networkOf, networksOf, refusalDetails, type ThrottleKind } from 'svc/plugins/http/api'
import type { SignatureGuard, SignatureThrottle } from 'svc/plugins/iam/api'
import { rateLimitErrors } from './errors.ts'
import type { TokenBuckets, Window } from './token-buckets.ts'

const minuteNs = 60_000_000_000n
const secondNs = 1_000_000_000n

export const wrongPerKeyMax = 100
/** With any access key, known or not: a customer with a wider network has more machines, and still a bound. */
export const wrongPerNetworkMax: Readonly<Record<NetworkBits, number>> = { 64: 1000, 56: 2000, 48: 4000 }

const windowOfKey: Window = { lengthNs: minuteNs, max: wrongPerKeyMax }
const windows: Readonly<Record<NetworkBits, Window>> = {
  64: { lengthNs: minuteNs, max: wrongPerNetworkMax[64] },
  56: { lengthNs: minuteNs, max: wrongPerNetworkMax[56] },
  48: { lengthNs: minuteNs, max: wrongPerNetworkMax[48] },
}

/** Size of the memory that threads share, beside that of the counts. */
export const refusingBytes = Int32Array.BYTES_PER_ELEMENT

export interface WrongSignaturesOptions {
  /** `refusingBytes`, initially zeroes; the same in all threads. */
  readonly refusing: SharedArrayBuffer
  readonly buckets: TokenBuckets
  /** Spaces of the buckets that nothing else uses. */
  readonly keySpace: number
  readonly networkSpace: number
  readonly clock: Clock
}

export function createWrongSignatures(options: WrongSignaturesOptions): SignatureThrottle {
  const { buckets, keySpace, networkSpace, clock } = options
  /** The second of the monotonic clock by which nobody is refused any more; 0 while nobody is. All that good requests look at. */
  const refusingUntil = new Int32Array(options.refusing)

  /** Two names of networks with the same access key are never the same: networks hold no blanks. */
  const keyName = (clientAddress: string, accessKey: string): string => `${networkOf(clientAddress)} ${accessKey}`

  function noteRefusal(endNs: bigint): void {
    if (endNs === 0n) return
    const second = Number(endNs / secondNs) + 1
    for (;;) {
      const found = Atomics.load(refusingUntil, 0)
      if (found >= second || Atomics.compareExchange(refusingUntil, 0, found, second) === found) return
    }
  }

  function refuse(kind: ThrottleKind, endNs: bigint, nowNs: bigint): void {
    if (endNs === 0n) return
    const retryAfterSeconds = Math.ceil(Number(endNs - nowNs) / Number(secondNs))
    throw rateLimitErrors.SlowDown(
      'Too many requests had a wrong signature. Correct the secret key, and try again later.',
      refusalDetails({ kind, retryAfterSeconds }),
    )
  }

  return {
    guard(clientAddress): SignatureGuard | undefined {
      const untilSecond = Atomics.load(refusingUntil, 0)
      if (untilSecond === 0) return undefined
      const nowNs = clock.monotonicNs()
      if (nowNs >= BigInt(untilSecond) * secondNs) {
        // Unless another thread has just set a later time.
        Atomics.compareExchange(refusingUntil, 0, untilSecond, 0)
        return undefined
      }
      return accessKey => {
        for (const [network, bits] of networksOf(clientAddress)) {
          refuse('ip', buckets.exhaustedUntil(networkSpace, network, windows[bits], nowNs), nowNs)
        }
        const name = keyName(clientAddress, accessKey)
        refuse('user', buckets.exhaustedUntil(keySpace, name, windowOfKey, nowNs), nowNs)
      }
    },

    failed(clientAddress, accessKey) {
      const nowNs = clock.monotonicNs()
      for (const [network, bits] of networksOf(clientAddress)) {
        noteRefusal(buckets.count(networkSpace, network, windows[bits], nowNs))
      }
      if (accessKey === undefined) return
      noteRefusal(buckets.count(keySpace, keyName(clientAddress, accessKey), windowOfKey, nowNs))
    },
  }
}
