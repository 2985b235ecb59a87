/** Makes lines of finished requests whose bucket has a log. */
import type { Logger, MaybePromise } from 'svc/kernel'
import type { LogObjects } from 'svc/plugins/log-objects/api'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import { logLine } from './log-line.ts'
import type { LogDestination } from './logging-status.ts'

/** Requests whose bucket's configuration is being read. */
const readingMax = 10_000

export interface ObserverOptions {
  destinationOf(bucket: string): MaybePromise<LogDestination | undefined>
  readonly add: LogObjects<LogDestination>['add']
  readonly ownerId: string
  readonly log: Logger
}

export function createObserver({ destinationOf, add, ownerId, log }: ObserverOptions) {
  let readingCount = 0

  const write = (record: S3RequestRecord, destination: LogDestination): void =>
    add(destination.status.targetBucket, destination, logLine(record, ownerId), record.timeMs)

  const readAndWrite = async (record: S3RequestRecord, reading: Promise<LogDestination | undefined>) => {
    readingCount++
    try {
      const destination = await reading
      if (destination !== undefined) write(record, destination)
    } catch (error) {
      log.warn({ err: error, bucket: record.bucket }, 'the configuration of access logging could not be read')
    } finally {
      readingCount--
    }
  }

  return (record: S3RequestRecord): void => {
    if (record.bucket === '' || record.errorCode === 'NoSuchBucket' || readingCount >= readingMax) return
    const found = destinationOf(record.bucket)
    if (found instanceof Promise) void readAndWrite(record, found)
    else if (found !== undefined) write(record, found)
  }
}
