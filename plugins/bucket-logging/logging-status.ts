/** Where the access log of a bucket goes: what its configuration says, and the keys of the objects that follow from it. */
import type { Random } from 'svc/kernel'
import type { BucketDocument } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'

export const LoggingStatus = Type.Object(
  {
    targetBucket: Type.String(),
    targetPrefix: Type.String(),
    /** When the target bucket was made: another one of its name gets nothing. Absent where it came with an archive, or from an early release. */
    targetCreatedMs: Type.Optional(Type.Integer()),
    /** Absent: the configuration named no format, which is `simple`. */
    keyFormat: Type.Optional(
      Type.Union([Type.Literal('simple'), Type.Literal('event-time'), Type.Literal('delivery-time')]),
    ),
  },
  { additionalProperties: false },
)

export type LoggingStatus = Static<typeof LoggingStatus>

/** The destination of lines; it is stored with them. */
export interface LogDestination {
  readonly source: string
  readonly status: LoggingStatus
}

/** With `event-time`, lines of different days are in different objects. */
export function dayOf({ status }: LogDestination, eventMs: number): string {
  return status.keyFormat === 'event-time' ? new Date(eventMs).toISOString().slice(0, 10) : ''
}

export interface KeyParts {
  readonly status: LoggingStatus
  readonly account: string
  readonly region: string
  readonly source: string
  /** Times of the first request in the object and of its delivery. */
  readonly eventMs: number
  readonly deliveryMs: number
  readonly random: Random
}

/** `2026-08-01-09-30-00-<16 hexadecimal digits>` behind the prefix and the partition. Source: AWS S3 User Guide, "Log object key format". */
export function keyOfLog({ status, account, region, source, eventMs, deliveryMs, random }: KeyParts): string {
  const { targetPrefix, keyFormat = 'simple' } = status
  const time = new Date(keyFormat === 'event-time' ? eventMs : deliveryMs).toISOString()
  const day = time.slice(0, 10)
  const timeOfDay = keyFormat === 'event-time' ? '00-00-00' : time.slice(11, 19).replaceAll(':', '-')
  const name = `${day}-${timeOfDay}-${random.bytes(8).toString('hex').toUpperCase()}`
  if (keyFormat === 'simple') return `${targetPrefix}${name}`
  return `${targetPrefix}${account}/${region}/${source}/${day.replaceAll('-', '/')}/${name}`
}

/** As archives carry it: on another deployment the target bucket was made at another time. */
export function portable({ targetCreatedMs: _, ...status }: LoggingStatus): LoggingStatus {
  return status
}

declare module 'svc/kernel' {
  interface Services {
    /** For the operations of this plugin alone. */
    bucketLogging: BucketDocument<LoggingStatus>
  }
}
