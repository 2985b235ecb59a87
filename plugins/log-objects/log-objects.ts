/**
 * Lines become objects in two steps: each thread puts its lines into the persistent queue of their target bucket every 200 ms, and at each
 * interval the main thread writes what is queued. At least once: a crash between an object and its entries writes lines again. A crash
 * loses the lines in memory; a clean stop loses none. Requests never wait: lines that come faster than they can be queued are dropped and
 * counted.
 */
import type { BackgroundWorker, Logger, MaybePromise, Ports } from 'svc/kernel'
import type { ObjectsService, SystemMetadata } from 'svc/plugins/objects/api'
import type { QueueTopic } from 'svc/plugins/queue/api'
import { createCollector } from './collector.ts'
import { createDeliverer } from './deliverer.ts'

/** `D` says where lines go and what they are about. It is stored with them, as JSON: fields are only ever added. */
export interface LogObjectsOptions<D extends object> {
  readonly objects: Pick<ObjectsService, 'putObject'>
  readonly topic: Pick<QueueTopic, 'deliver' | 'push' | 'queues' | 'status'>
  readonly intervalMs: number
  readonly ports: Pick<Ports, 'clock'>
  readonly log: Logger
  /** Lines of different parts are never in one object: their day, where keys have one. */
  partOf(destination: D, eventMs: number): string
  /** A new key each time. `eventMs`: of the first line. */
  keyOf(destination: D, times: { readonly eventMs: number; readonly deliveryMs: number }): string
  readonly system: SystemMetadata
  /** Whether the bucket of this name is the one that the lines are for: else they are dropped. Default: any is. */
  isMeant?(target: string, destination: D): MaybePromise<boolean>
  /** Of the whole object. Default: as it is. */
  encode?(text: Buffer): Promise<Buffer>
  onLost(target: string, count: number): void
}

export interface LogObjects<D extends object> {
  /**
   * Of any thread. `destination`: the same object for the same destination as far as possible, because lines are collected by it.
   * `line`: without its newline.
   */
  add(target: string, destination: D, line: string, eventMs: number): void
  /** For the main thread. */
  readonly worker: BackgroundWorker
  /** Ends the writing of objects. */
  drain(): Promise<void>
  /** Queues the lines in memory. Takes no more. */
  stop(): Promise<void>
}

export function createLogObjects<D extends object>(options: LogObjectsOptions<D>): LogObjects<D> {
  const { topic, ports, log, partOf, onLost } = options
  const collector = createCollector<D>({ topic, clock: ports.clock, log, partOf, onLost })
  const deliverer = createDeliverer(options)
  return { add: collector.add, worker: deliverer.worker, drain: deliverer.stop, stop: collector.stop }
}
