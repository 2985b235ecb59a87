/** `mirror`: two trees in the order of keys, compared as they come. */
import { unlink } from 'node:fs/promises'
import { join, matchesGlob } from 'node:path'
import type { Context } from './context.ts'
import { openFolder } from './copying.ts'
import { CliError, conflictError, exitCodes, usageError } from './errors.ts'
import { createFailures, type Failures } from './failures.ts'
import { removeObjects } from './removal.ts'
import type { S3Client } from './s3/client.ts'
import type { CustomerKey } from './s3/customer-key.ts'
import { listObjects } from './s3/listing.ts'
import { folderPrefix, formatRemote, type RemoteTarget, requireBucket, type Target } from './target.ts'
import { type Entry, hasContentOf, haveSameContent, isMd5, type Pair, pairUp } from './transfer/comparison.ts'
import { setModified } from './transfer/local-file.ts'
import type { LocalFolder } from './transfer/local-name.ts'
import { walkFiles } from './transfer/local-tree.ts'
import { createTransfers, type TransferOptions, type Transferred, type Transfers } from './transfer/transfers.ts'
import { workThrough } from './transfer/work.ts'

export interface MirrorOptions extends TransferOptions {
  readonly overwrite?: boolean
  readonly remove?: boolean
  readonly exclude?: readonly string[]
  readonly checksum?: boolean
  readonly dryRun?: boolean
  readonly watch?: boolean
  /** Milliseconds. */
  readonly watchInterval?: number
}

/** The maximum number of keys remembered as reported. */
const toldMax = 10_000

/** On file systems with coarser times, contents are compared instead. */
const timePrecisionMs = 2

export const emptySource = (what: string): CliError =>
  new CliError('empty_source', exitCodes.conflict, `The source is empty: ${what}`)

/** Ends a continuous mirror: another folder has the name of the source. */
export class SourceReplaced extends CliError {
  constructor(root: string) {
    super(
      'source_replaced',
      exitCodes.failure,
      `${root} is not the folder that was watched: none of its files is copied, and nothing is removed from the target. ` +
        'Start the mirror again if this one is to be mirrored.',
    )
  }
}

/** The state that a continuous mirror keeps from one pass to the next. */
export interface Watched {
  /** Keys that are known to differ, reported once for several passes. */
  readonly told: Set<string>
  /** Throws `SourceReplaced`. */
  requireSame(): void
}

/** One of the two trees. */
export interface Side {
  readonly label: (key: string) => string
  list(): AsyncIterable<Entry>
  /** Set for a tree of objects. */
  readonly remote?: { readonly client: S3Client; readonly bucket: string; readonly prefix: string }
  /** Set for a tree of files. */
  readonly root?: string
}

export async function mirror(
  context: Context,
  sourceText: string,
  targetText: string,
  options: MirrorOptions,
): Promise<void> {
  const [source, target] = [await context.target(sourceText), await context.target(targetText)]
  if (source.kind === 'stream' || target.kind === 'stream') throw usageError('Standard streams cannot be mirrored.')
  if (source.kind === 'local' && target.kind === 'local') {
    throw usageError(
      'Neither is an alias: one of source and target is ALIAS/bucket/prefix (`svcctl alias list` shows aliases).',
    )
  }
  const failures = createFailures(context.output)
  const isLocal = source.kind === 'local' || target.kind === 'local'
  const from = await openSide(context, source, isLocal, failures, { mayMiss: false, isQuiet: false })
  const to = await openSide(context, target, isLocal, failures, { mayMiss: true, isQuiet: false })
  requireApart(from, to)
  context.startProgress()
  await new Mirroring(context, from, to, options, failures).run()
}

export interface SideOptions {
  /** A missing folder counts as an empty one. */
  readonly mayMiss: boolean
  /** Does not report files that are left out. */
  readonly isQuiet: boolean
}

export async function openSide(
  context: Context,
  target: Target,
  isLocal: boolean,
  failures: Failures,
  { mayMiss, isQuiet }: SideOptions,
): Promise<Side> {
  if (target.kind === 'remote') return remoteSide(context, target, isLocal)
  const { path: text } = target as Extract<Target, { kind: 'local' }>
  const root = context.path(text)
  return {
    root,
    label: key => join(text, key),
    async *list() {
      try {
        yield* walkFiles(root, ({ path, reason, isFailure }) => {
          if (isFailure) failures.add(usageError(`${path} ${reason}.`), { source: path })
          else if (!isQuiet) context.output.note(`${path} ${reason} and is skipped.`)
        })
      } catch (error) {
        const { code, path } = error as NodeJS.ErrnoException
        // A missing target is empty. A missing source is an error of the user.
        if (code !== 'ENOENT' || !mayMiss || path !== root) throw error
      }
    },
  }
}

async function remoteSide(context: Context, target: RemoteTarget, isLocal: boolean): Promise<Side> {
  const bucket = requireBucket(target)
  const client = await context.connect(target.alias)
  const prefix = folderPrefix(target.key)
  return {
    remote: { client, bucket, prefix },
    label: key => formatRemote({ ...target, key: prefix + key }),
    async *list() {
      for await (const { items } of listObjects(client, { bucket, prefix })) {
        for (const { key, ...rest } of items) {
          // Objects that represent a folder are not written as files.
          if (key === prefix || (isLocal && key.endsWith('/') && rest.sizeBytes === 0)) continue
          yield { key: key.slice(prefix.length), ...rest }
        }
      }
    },
  }
}

function requireApart({ remote: from }: Side, { remote: to }: Side): void {
  if (from === undefined || to === undefined) return
  if (from.client.endpoint !== to.client.endpoint || from.bucket !== to.bucket) return
  if (to.prefix.startsWith(from.prefix) || from.prefix.startsWith(to.prefix)) {
    throw usageError('Source and target are parts of each other.')
  }
}

export class Mirroring {
  readonly #context: Context
  readonly #from: Side
  readonly #to: Side
  readonly #options: MirrorOptions
  readonly #failures: Failures
  readonly #transfers: Transfers
  readonly #watched: Watched | undefined
  #folder: LocalFolder | undefined
  #sourceCount = 0
  #leftCount = 0
  copiedCount = 0
  removedCount = 0
  /** Deleted at the end, when the source has been listed completely. */
  #surplus: Entry[] = []
  /** Keys of the source in other forms than NFC, as NFC: servers that normalize store them so, and they are not surplus. */
  readonly #normalized = new Set<string>()

  constructor(context: Context, from: Side, to: Side, options: MirrorOptions, failures: Failures, watched?: Watched) {
    this.#watched = watched
    this.#context = context
    this.#from = from
    this.#to = to
    this.#options = options
    this.#failures = failures
    this.#transfers = createTransfers(context, options)
  }

  /** The customer's key for objects that are written. */
  get targetKey(): CustomerKey | undefined {
    return this.#transfers.encryption.targetKey
  }

  async run(): Promise<void> {
    const { output } = this.#context
    if (this.#to.root !== undefined && !this.#options.dryRun)
      this.#folder = await openFolder(this.#context, this.#to.root)
    await this.bringInLine(pairUp(this.#from.list(), this.#to.list()), () => this.#requireSource())
    this.#failures.end()
    if (this.#leftCount > 0) {
      throw conflictError(
        `${this.#leftCount} differ in the target and were left as they are: --overwrite replaces them.`,
      )
    }
    if (!output.options.isJson && this.copiedCount === 0) output.note('Nothing to copy.')
  }

  /** `requireSource` throws if the source may have become unavailable: then its missing files are no reason to delete. */
  async bringInLine(pairs: AsyncIterable<Pair>, requireSource: () => void | Promise<void>): Promise<void> {
    await workThrough(pairs, this.#options.concurrency, async pair => {
      const key = (pair.left ?? pair.right)!.key
      if (this.#options.exclude?.some(pattern => matchesGlob(key, pattern))) return
      try {
        await this.#bringInLine(pair)
      } catch (error) {
        if (error instanceof SourceReplaced) throw error
        this.#failures.add(error, { source: this.#from.label(key), target: this.#to.label(key) })
      }
    })
    this.#context.output.progress.stop()
    if (!this.#options.remove) return
    this.#keepNormalized()
    if (this.#surplus.length === 0) return
    if (this.#failures.count > 0) {
      this.#context.output.note(
        `${this.#surplus.length} that are only in the target stay, because not everything succeeded.`,
      )
      return
    }
    await requireSource()
    await this.#removeSurplus()
  }

  async #bringInLine({ left, right }: Pair): Promise<void> {
    if (left === undefined) {
      this.#surplus.push(right!)
      return
    }
    this.#sourceCount++
    const { output } = this.#context
    const { key, sizeBytes } = left
    const source = this.#from.label(key)
    const target = this.#to.label(key)
    if (right !== undefined) {
      if (await this.#isSame(left, right)) return
      if (!this.#options.overwrite) {
        this.#leftCount++
        this.#onDiffers(key, source, target)
        return
      }
    }
    if (right === undefined && this.#to.remote !== undefined) {
      const normalized = key.normalize('NFC')
      if (normalized !== key) this.#normalized.add(normalized)
    }
    if (this.#options.dryRun) {
      this.copiedCount++
      output.done({ status: 'would-copy', source, target, size: sizeBytes }, `would copy ${source} -> ${target}`)
      return
    }
    output.progress.addTotal(sizeBytes, 1)
    const done = await this.#copy(left)
    this.copiedCount++
    output.progress.addFile()
    output.done({ status: 'copied', source, target, ...done }, `${source} -> ${target}`)
  }

  #onDiffers(key: string, source: string, target: string): void {
    const told = this.#watched?.told
    if (told?.has(key)) return
    if (told !== undefined && told.size < toldMax) told.add(key)
    this.#context.output.done({ status: 'differs', source, target }, `${target} differs from ${source}`)
  }

  async #copy({ key, sizeBytes, path, modifiedMs }: Entry): Promise<Transferred> {
    const { remote: from } = this.#from
    const { remote: to } = this.#to
    const place = to && { client: to.client, bucket: to.bucket, key: to.prefix + key }
    // The open file belongs to the folder that has this name now.
    if (from === undefined) return this.#transfers.upload(path!, place!, () => this.#watched?.requireSame())
    const found = { client: from.client, bucket: from.bucket, key: from.prefix + key }
    if (place !== undefined) return this.#transfers.copy(found, place)
    return this.#transfers.download(found, sizeBytes, await this.#folder!.place(key), modifiedMs)
  }

  async #isSame(left: Entry, right: Entry): Promise<boolean> {
    if (left.sizeBytes !== right.sizeBytes) return false
    const { remote: from } = this.#from
    const { remote: to } = this.#to
    const { checksum } = this.#options
    const { sourceKey, targetKey, readKey } = this.#transfers.encryption
    if (from !== undefined && to !== undefined) {
      const nameIn = (
        { client, bucket, prefix }: NonNullable<Side['remote']>,
        customerKey: CustomerKey | undefined,
      ) => ({
        client,
        bucket,
        key: prefix + left.key,
        customerKey,
      })
      if (checksum) return haveSameContent(nameIn(from, sourceKey), nameIn(to, targetKey))
      if (left.etag === right.etag) return true
      return isMd5(left.etag) && isMd5(right.etag) ? false : left.modifiedMs <= right.modifiedMs
    }
    if (to !== undefined) {
      // Recorded after the file was written: the file holds these bytes.
      if (!checksum && left.modifiedMs <= right.modifiedMs) return true
      return hasContentOf(left.path!, to.client, {
        bucket: to.bucket,
        key: to.prefix + left.key,
        customerKey: targetKey,
      })
    }
    // Downloads get the object's time, so equal times are sufficient.
    if (!checksum && Math.abs(left.modifiedMs - right.modifiedMs) < timePrecisionMs) return true
    const isSame = await hasContentOf(right.path!, from!.client, {
      bucket: from!.bucket,
      key: from!.prefix + left.key,
      customerKey: readKey,
    })
    if (isSame && !this.#options.dryRun) await setModified(right.path!, left.modifiedMs)
    return isSame
  }

  /** Keys that the target stores in another normal form would be copied and then deleted. */
  #keepNormalized(): void {
    const surplus = this.#surplus.filter(({ key }) => !this.#normalized.has(key))
    const keptCount = this.#surplus.length - surplus.length
    this.#surplus = surplus
    if (keptCount === 0) return
    this.#context.output.note(
      `${keptCount} in the target are kept: the source has them under names in another Unicode normal form. A server of svc ` +
        'keeps both ways apart with SVC_KEY_NORMALIZATION=none.',
    )
  }

  #requireSource(): void {
    if (this.#sourceCount > 0 || this.#context.options.yes || this.#options.dryRun) return
    throw emptySource(`removing all ${this.#surplus.length} of the target takes --yes as well.`)
  }

  async #removeSurplus(): Promise<void> {
    const { output } = this.#context
    const told = (key: string) => {
      this.removedCount++
      const target = this.#to.label(key)
      if (this.#options.dryRun) output.done({ status: 'would-remove', target }, `would remove ${target}`)
      else output.done({ status: 'removed', target }, `removed ${target}`)
    }
    if (this.#options.dryRun) for (const { key } of this.#surplus) told(key)
    else if (this.#to.remote !== undefined) {
      const { client, bucket, prefix } = this.#to.remote
      const doomed = this.#surplus.map(({ key }) => ({ key: prefix + key }))
      await removeObjects(client, bucket, doomed, {
        bypassGovernance: false,
        failures: this.#failures,
        onRemoved: ({ key }) => told(key.slice(prefix.length)),
      })
    } else {
      for (const { key, path } of this.#surplus) {
        try {
          await unlink(path!)
          told(key)
        } catch (error) {
          this.#failures.add(error, { target: path })
        }
      }
    }
  }
}
