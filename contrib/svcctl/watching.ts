/**
 * `mirror --watch`: a folder and its place on a server, kept the same until a signal comes.
 *
 * 1. The system reports changed paths; they are compared when they have been quiet for a moment. Changes that it does not report
 *    (it may drop events, and has a limit of folders) are found by comparing everything, at the interval and after each failure.
 * 2. Failures are reported, and retried with growing pauses. It ends with a signal, or when the folder is replaced.
 * 3. If another folder gets the name (a drive is unmounted, or another one is mounted there), none of its files is copied, nothing
 *    is removed from the target, and the mirror ends. A missing folder may come back.
 * 4. With --remove: a missing or empty folder removes nothing; an empty one does with --yes.
 */
import { type FSWatcher, lstatSync, type Stats, statSync, watch } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import type { Context } from './context.ts'
import { CliError, exitCodes, S3Error, usageError } from './errors.ts'
import { createFailures } from './failures.ts'
import { formatSeconds } from './formatting.ts'
import { emptySource, Mirroring, type MirrorOptions, openSide, type Side, SourceReplaced } from './mirroring.ts'
import type { CustomerKey } from './s3/customer-key.ts'
import { listObjects } from './s3/listing.ts'
import { headObject } from './s3/object.ts'
import { type Entry, type Pair, pairUp } from './transfer/comparison.ts'
import { unfinishedPattern } from './transfer/local-name.ts'
import { walkFiles } from './transfer/local-tree.ts'

/** The quiet time after changes that follow each other, such as the writes of one file; and its maximum. */
const quietMs = 300
const busyMsMax = 5000
const retryMsMin = 2000
/** With more changed paths, everything is compared. */
const changedMax = 1000
export const watchIntervalMsDefault = 5 * 60_000

export async function watchAndMirror(
  context: Context,
  sourceText: string,
  targetText: string,
  options: MirrorOptions,
): Promise<void> {
  const [source, target] = [await context.target(sourceText), await context.target(targetText)]
  if (source.kind !== 'local' || target.kind !== 'remote') {
    throw usageError('--watch goes from a folder to ALIAS/bucket/prefix.')
  }
  if (options.dryRun) throw usageError('--watch and --dry-run do not go together.')
  const root = context.path(source.path)
  const identity = await stat(root)
  if (!identity.isDirectory()) throw usageError(`${JSON.stringify(source.path)} is no folder.`)
  const open = async (isFirst: boolean) => {
    const failures = createFailures(context.output)
    const sideOptions = { mayMiss: false, isQuiet: !isFirst }
    const from = await openSide(context, source, true, failures, sideOptions)
    const to = await openSide(context, target, true, failures, sideOptions)
    return { failures, from, to }
  }
  await new Watching(context, root, identity, options, open).run()
}

type Open = (isFirst: boolean) => Promise<{
  readonly failures: ReturnType<typeof createFailures>
  readonly from: Side
  readonly to: Side
}>

class Watching {
  readonly #context: Context
  readonly #root: string
  readonly #identity: Stats
  readonly #options: MirrorOptions
  readonly #open: Open
  readonly #intervalMs: number
  readonly #told = new Set<string>()
  /** Relative paths; undefined: too many, everything is compared. */
  #changed: Set<string> | undefined = new Set()
  #firstChangeMs = 0
  #lastChangeMs = 0
  #wake = () => {}
  #counts = { copied: 0, removed: 0, failed: 0 }

  constructor(context: Context, root: string, identity: Stats, options: MirrorOptions, open: Open) {
    this.#context = context
    this.#root = root
    this.#identity = identity
    this.#options = options
    this.#open = open
    this.#intervalMs = options.watchInterval ?? watchIntervalMsDefault
  }

  async run(): Promise<void> {
    const { output, io } = this.#context
    const startedMs = performance.now()
    const end = () => this.#wake()
    io.signal.addEventListener('abort', end)
    this.#context.endsOnSignal()
    // Before the first comparison, so that changes during it are seen.
    let watcher = this.#watch()
    let hasFailed = false
    let replaced: SourceReplaced | undefined
    try {
      let nextMs = 0
      let retryMs = retryMsMin
      for (let isFirst = true; !io.signal.aborted; isFirst = false) {
        const isDue = isFirst || this.#changed === undefined || performance.now() >= nextMs
        const failedCount = await this.#pass(isDue, isFirst)
        hasFailed = failedCount > 0
        if (hasFailed) {
          nextMs = performance.now() + Math.min(retryMs, this.#intervalMs)
          retryMs *= 2
        } else if (isDue) {
          nextMs = performance.now() + this.#intervalMs
          retryMs = retryMsMin
        }
        watcher ??= this.#watch()
        if (isFirst) this.#tellStart()
        if (watcher !== undefined && this.#isGone()) {
          // A folder that returns under that name needs a new watch.
          watcher.close()
          watcher = undefined
        }
        await this.#untilNext(nextMs)
      }
    } catch (error) {
      if (!(error instanceof SourceReplaced)) throw error
      replaced = error
    } finally {
      watcher?.close()
      io.signal.removeEventListener('abort', end)
    }
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    const { copied, removed, failed } = this.#counts
    output.result(
      { status: 'watched', ...this.#counts, seconds },
      `Watched for ${formatSeconds(seconds)}: ${copied} copied, ${removed} removed, ${failed} failed.`,
    )
    if (replaced !== undefined) throw replaced
    if (hasFailed) throw new CliError('failures', exitCodes.failure, 'The last comparison did not succeed.')
  }

  #tellStart(): void {
    const { output } = this.#context
    output.done({ status: 'watching', source: this.#root }, `Watching ${this.#root}; a signal (Ctrl+C) ends it.`)
  }

  #isGone(): boolean {
    return statSync(this.#root, { throwIfNoEntry: false }) === undefined
  }

  /** Throws if the folder was replaced. A missing folder is undefined. */
  #requireSame(): void {
    const found = statSync(this.#root, { throwIfNoEntry: false })
    if (found === undefined || (found.dev === this.#identity.dev && found.ino === this.#identity.ino)) return
    throw new SourceReplaced(this.#root)
  }

  /** Undefined if the system has no watch; then only complete comparisons find changes. */
  #watch(): FSWatcher | undefined {
    if (this.#isGone()) return undefined
    try {
      const watcher = watch(this.#root, { recursive: true }, (_, name) => this.#onChange(name))
      watcher.on('error', error => this.#onWatchError(error))
      return watcher
    } catch (error) {
      this.#onWatchError(error as Error)
      return undefined
    }
  }

  #onWatchError(error: Error): void {
    this.#context.output.note(
      `Changes are not all told by the system (${error.message}); they are found at each comparison, every ` +
        `${formatSeconds(this.#intervalMs / 1000)}.`,
    )
  }

  #onChange(name: string | null): void {
    const nowMs = performance.now()
    if (this.#changed?.size === 0) this.#firstChangeMs = nowMs
    this.#lastChangeMs = nowMs
    // The empty name is the folder itself.
    if (!name || (this.#changed?.size ?? 0) >= changedMax) this.#changed = undefined
    else this.#changed?.add(name)
    this.#wake()
  }

  /** Waits until the changes are quiet, until a complete comparison is due, or until the end. */
  async #untilNext(dueMs: number): Promise<void> {
    const { signal } = this.#context.io
    while (!signal.aborted) {
      const nowMs = performance.now()
      const hasChanged = this.#changed === undefined || this.#changed.size > 0
      const readyMs = hasChanged ? Math.min(this.#lastChangeMs + quietMs, this.#firstChangeMs + busyMsMax) : dueMs
      const waitMs = Math.min(readyMs, dueMs) - nowMs
      if (waitMs <= 0) return
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, waitMs)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      this.#wake = () => {}
    }
  }

  /** The number of failures; they have been reported. */
  async #pass(isWhole: boolean, isFirst: boolean): Promise<number> {
    this.#requireSame()
    const changed = this.#changed
    this.#changed = new Set()
    const { failures, from, to } = await this.#open(isFirst)
    const { signal } = this.#context.io
    // Reported paths are compared by content: two clocks cannot tell changes of the last seconds apart.
    const options = isWhole ? this.#options : { ...this.#options, checksum: true }
    const mirroring = new Mirroring(this.#context, from, to, options, failures, {
      told: this.#told,
      requireSame: () => this.#requireSame(),
    })
    const pairs =
      isWhole || changed === undefined
        ? pairUp(from.list(), to.list())
        : pairsAt(this.#root, to, changed, mirroring.targetKey)
    try {
      await mirroring.bringInLine(untilAborted(pairs, signal), () => this.#requireSource())
    } catch (error) {
      if (error instanceof SourceReplaced) throw error
      if (error !== signal.reason) failures.add(error, {})
    } finally {
      this.#counts.copied += mirroring.copiedCount
      this.#counts.removed += mirroring.removedCount
      this.#counts.failed += failures.count
    }
    this.#requireSame()
    return failures.count
  }

  async #requireSource(): Promise<void> {
    // Paths that were not examined any more are not missing.
    this.#context.io.signal.throwIfAborted()
    this.#requireSame()
    if (this.#isGone()) throw new CliError('source_gone', exitCodes.conflict, `${this.#root} has gone.`)
    if (this.#context.options.yes || (await readdir(this.#root)).length > 0) return
    throw emptySource('nothing of the target is removed without --yes.')
  }
}

async function* untilAborted(pairs: AsyncIterable<Pair>, signal: AbortSignal): AsyncGenerator<Pair> {
  for await (const pair of pairs) {
    if (signal.aborted) return
    yield pair
  }
}

/** The entries at these paths on both sides. */
async function* pairsAt(
  root: string,
  to: Side,
  changed: ReadonlySet<string>,
  customerKey: CustomerKey | undefined,
): AsyncGenerator<Pair> {
  for (const name of changed) {
    const isBelow = [...parentsOf(name)].some(parent => changed.has(parent))
    if (!isBelow && isReachable(root, name)) yield* pairsOf(root, to, name, customerKey)
  }
}

function* parentsOf(name: string): Generator<string> {
  for (let parent = dirname(name); parent !== '.' && parent !== sep; parent = dirname(parent)) yield parent
}

/** Links are not followed, as in complete comparisons. */
function isReachable(root: string, name: string): boolean {
  for (const parent of parentsOf(name)) {
    if (lstatSync(join(root, parent), { throwIfNoEntry: false })?.isSymbolicLink()) return false
  }
  return !unfinishedPattern.test(basename(name))
}

async function* pairsOf(
  root: string,
  to: Side,
  name: string,
  customerKey: CustomerKey | undefined,
): AsyncGenerator<Pair> {
  const path = join(root, name)
  const key = name.split(sep).join('/').normalize('NFC')
  const found = lstatSync(path, { throwIfNoEntry: false })
  const isFile = found?.isFile() === true
  const left = isFile ? { key, path, sizeBytes: found.size, modifiedMs: found.mtimeMs } : undefined
  const right = await remoteEntry(to, key, customerKey)
  if (left !== undefined || right !== undefined) yield { left, right }
  const below = found?.isDirectory() ? walkFiles(path, () => undefined, `${key}/`) : noEntries()
  yield* pairUp(below, entriesBelow(to, `${key}/`))
}

async function* noEntries(): AsyncGenerator<Entry> {
  // The folder does not exist.
}

async function remoteEntry(
  { remote }: Side,
  key: string,
  customerKey: CustomerKey | undefined,
): Promise<Entry | undefined> {
  const { client, bucket, prefix } = remote!
  try {
    const { sizeBytes, modifiedMs, etag } = await headObject(client, { bucket, key: prefix + key, customerKey })
    return { key, sizeBytes, modifiedMs, etag }
  } catch (error) {
    if (error instanceof S3Error && error.status === 404) return undefined
    throw error
  }
}

async function* entriesBelow({ remote }: Side, below: string): AsyncGenerator<Entry> {
  const { client, bucket, prefix } = remote!
  for await (const { items } of listObjects(client, { bucket, prefix: prefix + below })) {
    for (const { key, ...rest } of items) {
      if (!(key.endsWith('/') && rest.sizeBytes === 0)) yield { key: key.slice(prefix.length), ...rest }
    }
  }
}
