/** Settings of buckets: out of this deployment, and into it. */
import { isCatalogError, type Point } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import { requirePeriod } from 'svc/plugins/object-lock/api'
import {
  type Bucket,
  type BucketChange,
  noTags,
  type ObjectsService,
  requireNewBucketName,
} from 'svc/plugins/objects/api'
import { requireQuota } from 'svc/plugins/quota/api'
import { canonicalJson, differingFields } from 'svc/plugins/sealing/api'
import type { StoreService } from 'svc/plugins/store/api'
import { collectTags } from 'svc/plugins/tagging/api'
import { type Static, Type } from 'typebox'
import type { ArchiveSection, ChangedFields } from './api.ts'
import type { ArchiveProblem } from './errors.ts'

const Days = Type.Optional(Type.Integer({ minimum: 1 }))

export const BucketFile = Type.Object(
  {
    region: Type.String(),
    versioning: Type.Enum(['off', 'enabled', 'suspended']),
    objectLock: Type.Optional(
      Type.Object(
        {
          defaultRetention: Type.Optional(
            Type.Object(
              { mode: Type.Enum(['GOVERNANCE', 'COMPLIANCE']), days: Days, years: Days },
              { additionalProperties: false },
            ),
          ),
        },
        { additionalProperties: false },
      ),
    ),
    quotaBytes: Type.Optional(Type.Integer({ minimum: 1 })),
    tags: Type.Record(Type.String(), Type.String()),
    documents: Type.Record(Type.String(), Type.Unknown()),
  },
  { additionalProperties: false },
)

export type ArchivedBucket = Static<typeof BucketFile>

export interface BucketTransferOptions {
  readonly objects: ObjectsService
  readonly store: StoreService
  readonly sections: Point<ArchiveSection>
  readonly owner: () => Identity
}

type BucketSettings = Pick<Bucket, 'versioning' | 'tags' | 'objectLock' | 'quotaBytes'>

export interface BucketPlan {
  /** The names of new buckets. */
  readonly buckets: readonly string[]
  /** New settings, also of new buckets: `bucket/photos/tags`, `bucket/photos/bucket-policy`. */
  readonly created: readonly string[]
  /** Like `created`, for existing settings that change. */
  readonly changed: readonly string[]
  readonly fields: ChangedFields
  /** Like `created`, for settings that are removed. */
  readonly removed: readonly string[]
}

export interface BucketTransfer {
  /** The buckets of this deployment, by name. */
  export(): Promise<Map<string, ArchivedBucket>>
  has(name: string): Promise<boolean>
  check(buckets: ReadonlyMap<string, ArchivedBucket>): Promise<ArchiveProblem[]>
  plan(buckets: ReadonlyMap<string, ArchivedBucket>, mode: 'merge' | 'replace'): Promise<BucketPlan>
  /** May be repeated. */
  apply(name: string, bucket: ArchivedBucket, mode: 'merge' | 'replace'): Promise<void>
}

export function createBucketTransfer({ objects, store, sections, owner }: BucketTransferOptions): BucketTransfer {
  const sectionsByName = () => new Map(sections.list().map(({ value }) => [value.documents.name, value]))

  const readDocuments = async (bucket: string): Promise<Map<string, unknown>> => {
    const found = new Map<string, unknown>()
    for (const [name, { documents }] of sectionsByName()) {
      const value = await documents.read(bucket, problem => {
        throw new Error(`the document ${name} of the bucket ${bucket} cannot be read: ${problem}`)
      })
      if (value !== undefined) found.set(name, value)
    }
    return found
  }

  const describe = async ({ name, region, versioning, objectLock, quotaBytes, tags }: Bucket) => ({
    region,
    versioning,
    ...(objectLock !== undefined && { objectLock }),
    ...(quotaBytes !== undefined && { quotaBytes }),
    tags: Object.fromEntries(tags),
    documents: Object.fromEntries(await readDocuments(name)),
  })

  const find = async (name: string): Promise<Bucket | undefined> => {
    try {
      return await objects.getBucket(name)
    } catch (error) {
      if (isCatalogError(error) && error.code === 'NoSuchBucket') return undefined
      throw error
    }
  }

  /** The changes of the bucket's own record; undefined: none. */
  const changeOf = (
    bucket: BucketSettings,
    wanted: ArchivedBucket,
    mode: 'merge' | 'replace',
  ): BucketChange | undefined => {
    const isReplaced = mode === 'replace'
    const tags = new Map(Object.entries(wanted.tags))
    const lock = isReplaced
      ? (wanted.objectLock ?? (bucket.objectLock && {}))
      : wanted.objectLock && { ...bucket.objectLock, ...wanted.objectLock }
    const quotaBytes = wanted.quotaBytes ?? (isReplaced ? 0 : undefined)
    // Object lock is for ever, and needs versioning; a bucket never goes back to `off`.
    const versioning = lock !== undefined || bucket.objectLock !== undefined ? 'enabled' : wanted.versioning
    const change: BucketChange = {
      ...(versioning !== 'off' && versioning !== bucket.versioning && { versioning }),
      ...((isReplaced || tags.size > 0) && !isSame(wanted.tags, Object.fromEntries(bucket.tags)) && { tags }),
      ...(lock !== undefined && !isSame(lock, bucket.objectLock) && { objectLock: lock }),
      ...(quotaBytes !== undefined && quotaBytes !== (bucket.quotaBytes ?? 0) && { quotaBytes }),
    }
    return Object.keys(change).length === 0 ? undefined : change
  }

  const documentsOf = async (name: string, wanted: ArchivedBucket, mode: 'merge' | 'replace') => {
    const found = await readDocuments(name)
    const changed = Object.entries(wanted.documents).filter(([kind, value]) => !isSame(value, found.get(kind)))
    const removed = mode === 'merge' ? [] : [...found.keys()].filter(kind => !Object.hasOwn(wanted.documents, kind))
    const isNew = ([kind]: [string, unknown]) => !found.has(kind)
    return { found, changed, created: changed.filter(isNew).map(([kind]) => kind), removed }
  }

  return {
    async export() {
      const found = new Map<string, ArchivedBucket>()
      for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
        const page: Awaited<ReturnType<ObjectsService['listBuckets']>> = await objects.listBuckets({
          prefix: '',
          startAfter,
          limit: 1000,
        })
        for (const bucket of page.buckets) found.set(bucket.name, await describe(bucket))
        startAfter = page.next
      }
      return found
    },

    has: async name => (await find(name)) !== undefined,

    async check(buckets) {
      const problems: ArchiveProblem[] = []
      const known = sectionsByName()
      for (const [name, { versioning, objectLock, quotaBytes, tags, documents }] of buckets) {
        const file = `buckets/${name}.json`
        const refuse = (place: string, check: () => unknown) => {
          const message = refusalOf(check)
          if (message !== undefined) problems.push({ element: `${file}${place}`, message })
        }
        // A bucket that is there keeps its name, which an earlier release may have allowed.
        if ((await find(name)) === undefined) refuse('', () => requireNewBucketName(name))
        refuse('/tags', () => collectTags(Object.entries(tags), 'bucket'))
        if (quotaBytes !== undefined) refuse('/quotaBytes', () => requireQuota(quotaBytes))
        if (objectLock !== undefined && versioning !== 'enabled') {
          problems.push({ element: `${file}/objectLock`, message: 'it needs versioning, which is not enabled' })
        }
        const { days, years } = objectLock?.defaultRetention ?? { days: 1 }
        if ((days === undefined) === (years === undefined)) {
          problems.push({ element: `${file}/objectLock`, message: 'it has exactly one of days and years' })
        }
        for (const [unit, period] of [['days', days] as const, ['years', years] as const]) {
          if (period !== undefined) refuse(`/objectLock/defaultRetention/${unit}`, () => requirePeriod(unit, period))
        }
        for (const [kind, value] of Object.entries(documents)) {
          const element = `${file}/documents/${kind}`
          const section = known.get(kind)
          const message =
            section === undefined
              ? 'no plugin that is loaded keeps this'
              : (section.documents.check(value) ?? (await section.problem?.(name, value)))
          if (message !== undefined) problems.push({ element, message })
        }
      }
      return problems
    },

    async plan(buckets, mode) {
      const made: string[] = []
      const plan = { created: [] as string[], changed: [] as string[], removed: [] as string[] }
      const fields = new Map<string, readonly string[]>()
      for (const [name, wanted] of buckets) {
        const found = await find(name)
        if (found === undefined) made.push(name)
        const bucket = found ?? asMade(wanted)
        const documents = await documentsOf(name, wanted, mode)
        const own = namesOf(bucket, changeOf(bucket, wanted, mode))
        const place = (kind: string) => `bucket/${name}/${kind}`
        const others = documents.changed.map(([kind]) => kind).filter(kind => !documents.created.includes(kind))
        plan.created.push(...[...own.created, ...documents.created].map(place))
        plan.changed.push(...[...own.changed, ...others].map(place))
        plan.removed.push(...[...own.removed, ...documents.removed].map(place))
        if (own.changed.includes('tags'))
          fields.set(place('tags'), differingFields(Object.fromEntries(bucket.tags), wanted.tags))
        for (const kind of others)
          fields.set(place(kind), differingFields(documents.found.get(kind), wanted.documents[kind]))
      }
      return { buckets: made, ...plan, fields }
    },

    async apply(name, wanted, mode) {
      const { region, versioning, objectLock, quotaBytes } = wanted
      const isThere = (await find(name)) !== undefined
      if (!isThere) {
        await objects.createBucket(name, {
          region,
          owner: owner(),
          tags: noTags,
          versioning: versioning !== 'off',
          objectLock: objectLock !== undefined,
          ...(quotaBytes !== undefined && { quotaBytes }),
        })
      }
      const change = changeOf(await objects.getBucket(name), wanted, mode)
      if (change !== undefined) await objects.changeBucket(name, change)
      const { changed, removed } = await documentsOf(name, wanted, mode)
      if (changed.length + removed.length === 0) return
      const known = sectionsByName()
      await store.transaction(tx => {
        for (const [kind, value] of changed) known.get(kind)!.documents.stage(tx, name, value)
        for (const kind of removed) known.get(kind)!.documents.stage(tx, name, undefined)
      })
    },
  }
}

/** Why the API refuses this; undefined: it does not. */
function refusalOf(check: () => unknown): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (isCatalogError(error)) return error.message
    throw error
  }
}

/** A new bucket, before it gets its settings; its versioning is part of it. */
const asMade = ({ versioning }: ArchivedBucket): BucketSettings => ({
  versioning,
  tags: noTags,
  objectLock: undefined,
  quotaBytes: undefined,
})

/** The fields of a bucket's own record that a change sets for the first time, changes, and removes. */
function namesOf(bucket: BucketSettings, { versioning, tags, objectLock, quotaBytes }: BucketChange = {}) {
  const isUnlocked = bucket.objectLock !== undefined && objectLock?.defaultRetention === undefined
  const facts: readonly [name: string, value: unknown, isThere: boolean, isRemoved: boolean][] = [
    ['versioning', versioning, true, false],
    ['tags', tags, bucket.tags.size > 0, tags?.size === 0],
    ['object-lock', objectLock, bucket.objectLock !== undefined, isUnlocked],
    ['quota', quotaBytes, bucket.quotaBytes !== undefined, quotaBytes === 0],
  ]
  const names = (isWanted: (isThere: boolean, isRemoved: boolean) => boolean) =>
    facts
      .filter(([, value, isThere, isRemoved]) => value !== undefined && isWanted(isThere, isRemoved))
      .map(([name]) => name)
  return {
    created: names((isThere, isRemoved) => !isRemoved && !isThere),
    changed: names((isThere, isRemoved) => !isRemoved && isThere),
    removed: names((_isThere, isRemoved) => isRemoved),
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return other !== undefined && canonicalJson(one) === canonicalJson(other)
}
