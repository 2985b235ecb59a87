/** `cp` and `mv`: pairs sources with targets, one job per file. */
import { lstat, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type OptionDeclaration, parsePair, parsePositive, parseSize } from './command.ts'
import type { Context } from './context.ts'
import { notFoundError, usageError } from './errors.ts'
import { createFailures, type Failures } from './failures.ts'
import { listObjects } from './s3/listing.ts'
import { folderPrefix, formatRemote, type RemoteTarget, requireBucket, requireKey, type Target } from './target.ts'
import { encryptionOptions } from './transfer/encryption.ts'
import { createLocalFolder, type LocalFolder, nameElements } from './transfer/local-name.ts'
import { walkFiles } from './transfer/local-tree.ts'
import {
  concurrencyDefault,
  createTransfers,
  isSamePlace,
  type RemoteObject,
  type TransferOptions,
  type Transferred,
  type Transfers,
} from './transfer/transfers.ts'
import { ahead, workThrough } from './transfer/work.ts'

export interface CopyOptions extends TransferOptions {
  readonly recursive?: boolean
  readonly versionId?: string
}

export const transferOptions: readonly OptionDeclaration[] = [
  ...encryptionOptions,
  { flags: '--storage-class <class>', summary: 'STANDARD or REDUCED_REDUNDANCY' },
  {
    flags: '--attr <name=value>',
    summary: 'a header such as Cache-Control, or metadata',
    parse: parsePair('='),
    isRepeatable: true,
  },
  { flags: '--sync', summary: 'files are on the drive before they count as copied' },
  { flags: '--tags <tags>', summary: 'of the objects: a=1&b=2' },
  {
    flags: '--part-size <size>',
    summary: 'larger files go in parts of this size (default 16MiB)',
    parse: parsePartSize,
  },
  {
    flags: '--concurrency <count>',
    summary: `requests under way at a time (default ${concurrencyDefault})`,
    parse: parsePositive,
    default: concurrencyDefault,
  },
]

function parsePartSize(text: string): number {
  const bytes = parseSize(text)
  if (bytes < 5 << 20 || bytes > 1024 ** 3) throw new RangeError('is not between 5MiB and 1GiB')
  return bytes
}

interface Job {
  readonly source: string
  readonly target: string
  /** Undefined: not known before it is there. */
  readonly sizeBytes: number | undefined
  run(): Promise<Transferred>
  /** Removes the source, for `mv`. */
  removeSource(): Promise<unknown>
}

/** So many files are looked at before they are copied, for the total in the progress line. */
const aheadMax = 10_000

export async function copyAll(
  context: Context,
  args: readonly string[],
  options: CopyOptions,
  isMove: boolean,
): Promise<void> {
  if (args.length < 2) throw usageError('A source and a target are needed.')
  const sources = await Promise.all(args.slice(0, -1).map(context.target))
  const target = await context.target(args.at(-1)!)
  requireSense(sources, target, options, isMove)
  const failures = createFailures(context.output)
  const plan: Plan = {
    context,
    options,
    failures,
    isMany: sources.length > 1,
    isMove,
    // An object that is removed at the source must be durable here.
    transfers: createTransfers(context, isMove ? { ...options, sync: true } : options),
  }
  const { output } = context
  // Standard output is the data: no other output may be mixed in.
  const verb = isMove ? 'moved' : 'copied'
  context.startProgress()
  const count = { files: 0, bytes: 0 }
  const isSingle = sources.length === 1 && !options.recursive
  const jobs = ahead(planAll(plan, sources, target), aheadMax, ({ sizeBytes }) =>
    output.progress.addTotal(sizeBytes ?? 0, 1),
  )
  await workThrough(jobs, options.concurrency, async job => {
    const { source, target: place } = job
    try {
      const done = await job.run()
      if (isMove) await job.removeSource()
      count.files++
      count.bytes += done.size
      output.progress.addFile()
      if (job.sizeBytes === undefined) output.progress.addTotal(done.size, 0)
      if (target.kind !== 'stream')
        output.done({ status: verb, source, target: place, ...done }, `${source} -> ${place}`)
    } catch (error) {
      if (isSingle) throw error
      failures.add(error, { source, target: place })
    }
  })
  output.progress.stop()
  failures.end()
  if (options.recursive && count.files === 0 && sources[0]?.kind === 'remote') {
    throw notFoundError(`There is nothing below ${formatRemote(sources[0])}.`)
  }
}

function requireSense(sources: readonly Target[], target: Target, options: CopyOptions, isMove: boolean): void {
  const { recursive, versionId } = options
  const isMany = sources.length > 1 || recursive
  if (versionId !== undefined && (isMany || sources[0]!.kind !== 'remote'))
    throw usageError('--version-id goes with one object.')
  for (const source of sources) {
    if (source.kind === 'stream' && (isMany || isMove))
      throw usageError('Standard input is a single source, and cannot be moved.')
    if (source.kind !== 'remote' && target.kind !== 'remote') {
      throw usageError(
        'Neither is an alias: one of source and target is ALIAS/bucket/key (`svcctl alias list` shows aliases).',
      )
    }
    if (source.kind === 'remote') requireBucket(source)
  }
  if (target.kind === 'stream' && (isMany || isMove)) throw usageError('Standard output takes one object, as a copy.')
  if (target.kind === 'remote') requireBucket(target)
}

interface Plan {
  readonly context: Context
  readonly options: CopyOptions
  readonly failures: Failures
  readonly isMany: boolean
  readonly isMove: boolean
  readonly transfers: Transfers
}

async function* planAll(plan: Plan, sources: readonly Target[], target: Target): AsyncGenerator<Job> {
  for (const source of sources) {
    const jobs = plan.options.recursive ? planBelow(plan, source, target) : [planOne(plan, source, target)]
    if (!plan.isMany) {
      for await (const job of jobs) yield job
      continue
    }
    try {
      for await (const job of jobs) yield job
    } catch (error) {
      plan.failures.add(error, { source: labelOf(source) })
    }
  }
}

const labelOf = (target: Target): string =>
  target.kind === 'remote' ? formatRemote(target) : target.kind === 'local' ? target.path : '-'

const lastElement = (key: string): string => key.slice(key.replace(/\/$/, '').lastIndexOf('/') + 1)

async function planOne(plan: Plan, source: Target, target: Target): Promise<Job> {
  const { context, transfers, options } = plan
  if (target.kind === 'remote') {
    const name =
      source.kind === 'local'
        ? basename(context.path(source.path))
        : source.kind === 'remote'
          ? lastElement(requireKey(source))
          : ''
    const key = remoteKey(plan, target, name)
    const to = { client: await context.connect(target.alias), bucket: target.bucket, key }
    const place = formatRemote({ ...target, key })
    if (source.kind === 'stream')
      return { source: '-', target: place, sizeBytes: undefined, run: () => transfers.fromStream(to), removeSource }
    if (source.kind === 'local') {
      const path = context.path(source.path)
      const found = await stat(path)
      return {
        source: source.path,
        target: place,
        sizeBytes: found.size,
        run: () => transfers.upload(path, to),
        removeSource: () => unlink(path),
      }
    }
    const from = { ...(await remoteObject(plan, source)), versionId: options.versionId }
    if (isSamePlace(from, to) && options.versionId === undefined) requireChange(plan, from, to, place)
    return {
      source: formatRemote(source),
      target: place,
      sizeBytes: undefined,
      run: () => transfers.copy(from, to),
      removeSource: remover(from),
    }
  }
  const remote = source as RemoteTarget
  const key = requireKey(remote)
  const from = { ...(await remoteObject(plan, remote)), versionId: options.versionId }
  const label = formatRemote(remote)
  if (target.kind === 'stream')
    return { source: label, target: '-', sizeBytes: undefined, run: () => transfers.toStream(from), removeSource }
  const path = await localPath(plan, target.path, lastElement(key))
  return {
    source: label,
    target: path.shown,
    sizeBytes: undefined,
    run: () => transfers.download(from, undefined, path.absolute),
    removeSource: remover(from),
  }
}

/** Never called: `requireSense` has refused it. */
const removeSource = async () => undefined

type Located = {
  readonly client: Awaited<ReturnType<Context['connect']>>
  readonly bucket: string
  readonly key: string
}

async function remoteObject({ context }: Plan, { alias, bucket, key }: RemoteTarget): Promise<Located> {
  return { client: await context.connect(alias), bucket, key }
}

const remover =
  ({ client, bucket, key }: Located) =>
  () =>
    client.send({ operation: 'DeleteObject', method: 'DELETE', bucket, key })

/** A copy onto itself would change nothing, and a move would delete the file. Throws a usage error. */
function requireChange(
  { isMove, options, transfers }: Plan,
  from: Pick<RemoteObject, 'client'>,
  to: Pick<RemoteObject, 'client'>,
  label: string,
): void {
  if (isMove) throw usageError(`${label} is its own target: it would be removed after it was copied.`)
  const { headers, targetKey } = transfers.encryption
  const { attr = [], storageClass } = options
  const isEncryptedAnew = Object.keys(headers).length > 0 || targetKey !== undefined
  if (!isEncryptedAnew && attr.length === 0 && storageClass === undefined) {
    throw usageError(
      `${label} is its own target: add --sse s3, --sse kms or --sse-c FILE to encrypt it anew, or --attr or --storage-class to ` +
        'change its properties.',
    )
  }
  // From one client to another tags would be lost on the way.
  if (from.client !== to.client) throw usageError(`${label} is its own target: name both by the same alias.`)
}

/** A target that is a bucket, ends at a slash, or takes several sources is a folder. */
function remoteKey({ isMany }: Plan, { key }: RemoteTarget, name: string): string {
  if (key !== '' && !key.endsWith('/') && !isMany) return key
  if (name === '') throw usageError('The target needs a name: standard input has none.')
  return folderPrefix(key) + name
}

async function localPath({ context, isMany }: Plan, text: string, name: string) {
  const absolute = context.path(text)
  const found = await lstatFollowing(absolute)
  if (found?.isDirectory() || isMany || /[/\\]$/.test(text)) {
    nameElements(name)
    const folder = await openFolder(context, text)
    return { absolute: await folder.place(name), shown: join(text, name) }
  }
  await requireParent(absolute, text)
  return { absolute, shown: text }
}

/** `cp home/a.txt hom/a` with a mistyped alias must not become a file. */
async function requireParent(absolute: string, text: string): Promise<void> {
  if ((await lstatFollowing(dirname(absolute)))?.isDirectory()) return
  throw notFoundError(`There is no folder ${JSON.stringify(dirname(text))}, and no alias of that name.`)
}

/** Opens the folder of a target. Creates it if only its last element is missing. */
export async function openFolder(context: Context, text: string): Promise<LocalFolder> {
  const absolute = context.path(text)
  await requireParent(absolute, text)
  return createLocalFolder(absolute)
}

async function lstatFollowing(path: string) {
  return stat(path).catch(async error => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return lstat(path).catch(() => undefined) // There is nothing, and it may be made.
  })
}

async function* planBelow(plan: Plan, source: Target, target: Target): AsyncGenerator<Job> {
  const { context, transfers, failures, isMany } = plan
  if (source.kind === 'local') {
    const root = context.path(source.path)
    const found = await stat(root)
    if (!found.isDirectory()) return yield planOne(plan, source, target)
    const remote = target as RemoteTarget
    const client = await context.connect(remote.alias)
    const prefix = folderPrefix(remote.key) + (isMany ? `${basename(root)}/` : '')
    const onSkip = ({ path, reason, isFailure }: { path: string; reason: string; isFailure: boolean }) => {
      if (isFailure) failures.add(usageError(`${path} ${reason}.`), { source: path })
      else context.output.note(`${path} ${reason} and is skipped.`)
    }
    for await (const file of walkFiles(root, onSkip)) {
      const key = prefix + file.key
      yield {
        source: join(source.path, file.path.slice(root.length)),
        target: formatRemote({ ...remote, key }),
        sizeBytes: file.sizeBytes,
        run: () => transfers.upload(file.path, { client, bucket: remote.bucket, key }),
        removeSource: () => unlink(file.path),
      }
    }
    return
  }
  const remote = source as RemoteTarget
  const client = await context.connect(remote.alias)
  const { bucket } = remote
  const prefix = folderPrefix(remote.key)
  const own = isMany ? `${lastElement(prefix === '' ? `${bucket}/` : prefix)}` : ''
  const place = await placeBelow(plan, remote, target, own)
  for await (const { items } of listObjects(client, { bucket, prefix })) {
    for (const { key, sizeBytes } of items) {
      const relative = key.slice(prefix.length)
      // An object that represents a folder is not a file.
      if (relative === '' || (target.kind === 'local' && relative.endsWith('/') && sizeBytes === 0)) continue
      const from = { client, bucket, key }
      yield {
        source: formatRemote({ ...remote, key }),
        target: place.label(relative),
        sizeBytes,
        run: () => place.put(from, sizeBytes, relative),
        removeSource: remover(from),
      }
    }
  }
}

async function placeBelow(plan: Plan, source: RemoteTarget, target: Target, own: string) {
  const { context, transfers } = plan
  if (target.kind === 'local') {
    const folder = await openFolder(context, target.path)
    return {
      label: (relative: string) => join(target.path, own + relative),
      put: async (from: Located, sizeBytes: number, relative: string) =>
        transfers.download(from, sizeBytes, await folder.place(own + relative)),
    }
  }
  const remote = target as RemoteTarget
  const client = await context.connect(remote.alias)
  const prefix = folderPrefix(remote.key) + own
  const from = { ...(await remoteObject(plan, source)), key: folderPrefix(source.key) }
  const to = { client, bucket: remote.bucket, key: prefix }
  // Each object onto itself ends: no key comes that was not there.
  if (isSamePlace(from, to)) requireChange(plan, from, to, formatRemote(source))
  else if (isSamePlace({ ...from, key: '' }, { ...to, key: '' }) && prefix.startsWith(from.key)) {
    throw usageError(`${formatRemote(remote)} is in ${formatRemote(source)}: the copy would go on for ever.`)
  }
  return {
    label: (relative: string) => formatRemote({ ...remote, key: prefix + relative }),
    put: (from: Located, _: number, relative: string) =>
      transfers.copy(from, { client, bucket: remote.bucket, key: prefix + relative }),
  }
}
