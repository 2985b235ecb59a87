/** Export and import of everything but objects. One import at a time in a deployment; once its changes have begun, it is always completed. */
import { hostname } from 'node:os'
import { isCatalogError, type Logger, type Point, type Ports } from 'svc/kernel'
import type { IamService } from 'svc/plugins/iam/api'
import type { Lease, LockService } from 'svc/plugins/lock/api'
import type { ObjectsService } from 'svc/plugins/objects/api'
import { differingFields } from 'svc/plugins/sealing/api'
import type { SettingsAdministration, SettingsMap } from 'svc/plugins/settings/api'
import type { StoreService } from 'svc/plugins/store/api'
import type { UsersService } from 'svc/plugins/users/api'
import type { ArchivePart, ArchiveSection, ChangedFields } from './api.ts'
import { type ArchiveContents, packArchive, type RootCredentials, unpackArchive } from './archive.ts'
import { deriveArchiveSecret } from './archive-keys.ts'
import { type ArchiveShare, createArchiveMemory } from './archive-memory.ts'
import { createBucketTransfer } from './buckets.ts'
import { type ArchiveProblem, archiveErrors, invalidArchive } from './errors.ts'
import { createPartTransfer } from './parts.ts'
import type { ImportMode, PendingImport } from './pending-import.ts'
import { archiveBytesMax } from './zip-file.ts'

const lockName = 'svc/cluster-import'

export interface ClusterArchiveOptions {
  readonly users: UsersService
  readonly settings: SettingsAdministration
  readonly objects: ObjectsService
  readonly store: StoreService
  readonly locks: LockService
  readonly iam: Pick<IamService, 'owner'>
  readonly sections: Point<ArchiveSection>
  readonly parts: Point<ArchivePart>
  readonly pending: PendingImport
  readonly ports: Ports
  readonly log: Logger
  readonly rootPassword: string
}

export interface ImportOutcome {
  /** Counts in the archive. */
  readonly users: number
  readonly groups: number
  readonly policies: number
  readonly configSubsystems: number
  readonly buckets: number
  readonly bucketsCreated: readonly string[]
  /** Other documents of the archive, by the name of their part. */
  readonly documents: Readonly<Record<string, number>>
  /** New ones, without buckets: `user/ann`, `bucket/photos/tags`, `bucket/photos/bucket-policy`, `distribution/site`. */
  readonly created: readonly string[]
  /** Like `created`, for existing ones that change, and `config/api`: a subsystem always exists. */
  readonly changed: readonly string[]
  /** The fields of changed documents that differ. */
  readonly fields: ChangedFields
  /** Like `created`, for documents that are removed. */
  readonly removed: readonly string[]
}

export interface ClusterArchive {
  export(): Promise<Buffer>
  /**
   * Everything is checked before anything is changed; a dry run ends there. `receive` resolves with the archive, and takes each chunk of it
   * from the memory that there is for archives.
   */
  import(
    receive: (share: ArchiveShare) => Promise<Buffer>,
    options: { readonly mode: ImportMode; readonly isDryRun: boolean; readonly startedBy: string },
  ): Promise<ImportOutcome>
  /** Completes an import that was interrupted. Resolves with whether there was one. */
  resume(): Promise<boolean>
}

export function createClusterArchive(options: ClusterArchiveOptions): ClusterArchive {
  const { users, settings, objects, store, locks, iam, sections, pending, ports, log, rootPassword } = options
  const buckets = createBucketTransfer({ objects, store, sections, owner: () => iam.owner })
  const parts = createPartTransfer(options.parts)
  const credentials = (): RootCredentials => ({ rootUser: iam.owner.accessKey, rootPassword })

  const gather = async (): Promise<ArchiveContents> => ({
    directory: await users.exportDirectory(),
    settings: await settings.export(true),
    buckets: await buckets.export(),
    parts: await parts.export(),
  })

  const memory = createArchiveMemory(2 * archiveBytesMax)
  const deriveSecret = (salt: Buffer) => deriveArchiveSecret(credentials(), salt)
  const unpack = (bytes: Buffer, secretOf: typeof deriveSecret, share?: ArchiveShare) =>
    unpackArchive(bytes, secretOf, parts.schemas(), size => share?.take(size))

  /** The changes that an import would make. Throws `invalid_archive` with all problems. */
  const plan = async (contents: ArchiveContents, mode: ImportMode): Promise<ImportOutcome> => {
    const problems: ArchiveProblem[] = []
    const directory = await orProblems('iam.bin', problems, () =>
      users.importDirectory(contents.directory, { mode, isDryRun: true }),
    )
    const before = await settings.export(true)
    const configured = await orProblems('config.json', problems, () =>
      settings.apply(contents.settings, mode, { isDryRun: true }),
    )
    problems.push(...(await buckets.check(contents.buckets)))
    const documents = await parts.check(
      contents.parts,
      mode,
      async name => contents.buckets.has(name) || (await buckets.has(name)),
    )
    problems.push(...documents.problems)
    if (problems.length > 0) throw invalidArchive(problems)
    const planned = await buckets.plan(contents.buckets, mode)
    const { users: userMap, groups, policies } = contents.directory
    const settingsChanged = changedSettings(before, contents.settings, mode)
    // A subsystem always is, with its defaults; one of several instances may not be.
    const isSet = (name: string) => !name.includes(':') || Object.hasOwn(before, name.slice('config/'.length))
    return {
      users: userMap.size,
      groups: groups.size,
      policies: policies.size,
      configSubsystems: Object.keys(contents.settings).length,
      buckets: contents.buckets.size,
      bucketsCreated: planned.buckets,
      documents: Object.fromEntries([...contents.parts].map(([name, { size }]) => [name, size])),
      created: [
        ...[...settingsChanged.keys()].filter(name => !isSet(name)),
        ...[directory!, planned, documents.plan].flatMap(({ created }) => created),
      ],
      changed: [
        ...[...settingsChanged.keys()].filter(isSet),
        ...[directory!, planned, documents.plan].flatMap(({ changed }) => changed),
      ],
      fields: new Map([
        ...settingsChanged,
        ...[directory!, planned, documents.plan].flatMap(({ fields }) => [...fields]),
      ]),
      removed: [
        ...configured!.removed.map(([name]) => `config/${name}`),
        ...[directory!, planned, documents.plan].flatMap(({ removed }) => removed),
      ],
    }
  }

  /** In an order in which each part exists before others refer to it. May be repeated from the beginning. */
  const apply = async (
    { directory, settings: wanted, buckets: files, parts: documents }: ArchiveContents,
    mode: ImportMode,
    lease: Lease,
  ) => {
    await lease.check()
    await settings.apply(wanted, mode)
    await users.importDirectory(directory, { mode, beforeCommit: lease.check })
    for (const [name, bucket] of files) {
      await lease.check()
      await buckets.apply(name, bucket, mode)
    }
    await parts.apply(documents, mode, lease.check)
    await lease.check()
    await pending.end()
  }

  /** Resolves with whether there was an import to complete. */
  const complete = async (lease: Lease): Promise<boolean> => {
    const head = await pending.head()
    if (head === undefined) return false
    const { mode, startedBy, startedMs, secret } = head
    const secretOf = secret === undefined ? deriveSecret : async () => Buffer.from(secret, 'base64')
    const contents = await unpack(await pending.bytes(head), secretOf)
    await apply(contents, mode, lease)
    log.warn(
      { mode, startedBy, started: new Date(startedMs).toISOString() },
      'an import of a cluster archive was interrupted, and is complete now',
    )
    return true
  }

  /** Before another import: an incomplete one must not remain. One that cannot be completed is dropped, so that it blocks no other. */
  const completeFormer = async (lease: Lease): Promise<void> => {
    try {
      await complete(lease)
    } catch (error) {
      await lease.check()
      log.error(
        { err: error },
        'an interrupted import of a cluster archive cannot be completed; another one takes its place',
      )
    }
  }

  return {
    async export() {
      const contents = await gather()
      const open = await settings.exportOpen()
      const { clock, random } = ports
      const bytes = await packArchive(contents, {
        ...credentials(),
        open,
        schemas: parts.schemas(),
        random,
        nowMs: clock.now(),
        server: hostname(),
      })
      if (bytes.length > archiveBytesMax) {
        throw archiveErrors.conflict(
          `The archive would have more than the ${archiveBytesMax} bytes that an import takes.`,
        )
      }
      return bytes
    },

    async import(receive, { mode, isDryRun, startedBy }) {
      const share = memory.share()
      try {
        const bytes = await receive(share)
        const contents = await unpack(bytes, deriveSecret, share)
        if (isDryRun) return await plan(contents, mode)
        return await locks.hold(lockName, { source: 'importCluster' }, async lease => {
          await completeFormer(lease)
          const outcome = await plan(contents, mode)
          const id = Buffer.from(ports.random.bytes(8)).toString('hex')
          const secret = contents.secret.toString('base64')
          await lease.check()
          await pending.begin(bytes, { id, mode, startedMs: ports.clock.now(), startedBy, secret })
          await apply(contents, mode, lease)
          return outcome
        })
      } finally {
        share.end()
      }
    },

    async resume() {
      if ((await pending.head()) === undefined) return false
      // One that runs is not interrupted.
      if ((await locks.list()).some(({ resource }) => resource === lockName)) return false
      return locks.hold(lockName, { source: 'importCluster' }, complete)
    },
  }
}

/** Collects the problems of one part with those of the others. */
async function orProblems<T>(file: string, problems: ArchiveProblem[], work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!isCatalogError(error) || error.status >= 500) throw error
    const listed = Array.isArray(error.cause) ? (error.cause as ArchiveProblem[]) : []
    if (listed.length === 0) problems.push({ element: file, message: error.message })
    for (const { element, message } of listed) problems.push({ element: `${file}/${element}`, message })
    return undefined
  }
}

function changedSettings(before: SettingsMap, wanted: SettingsMap, mode: ImportMode): Map<string, readonly string[]> {
  const changed = new Map<string, readonly string[]>()
  for (const [name, values] of Object.entries(wanted)) {
    const own = Object.hasOwn(before, name) ? before[name]! : {}
    const fields = differingFields(own, mode === 'merge' ? { ...own, ...values } : values)
    if (fields.length > 0) changed.set(`config/${name}`, fields)
  }
  return changed
}

declare module 'svc/kernel' {
  interface Services {
    /** For the operations of this plugin alone. */
    clusterArchive: ClusterArchive
  }
}
