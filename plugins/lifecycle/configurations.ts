/** The stored rules of each bucket. Also enables the index of due times for buckets whose rules need it. */
import type { ObjectsService } from 'svc/plugins/objects/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import {
  type BucketDocument,
  bucketDocument,
  type CompiledDocuments,
  noRulesEtag,
  rulesPreconditions,
  type StoreService,
} from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import type { LifecycleService } from './api.ts'
import { type ReadyRules, readyRules } from './ready-rules.ts'
import { LifecycleRule } from './rules.ts'

const LifecycleDocument = Type.Object(
  {
    rules: Type.Array(LifecycleRule),
    transitionMinimum: Type.Union([Type.Literal('all_storage_classes_128K'), Type.Literal('varies_by_storage_class')]),
  },
  { additionalProperties: false },
)

export interface Ready extends ReadyRules {
  readonly etag: string
}

export interface Configurations extends Pick<LifecycleService, 'configuration' | 'replace'> {
  readonly documents: BucketDocument<Static<typeof LifecycleDocument>>
  readonly ready: CompiledDocuments<Ready>
}

export function createConfigurations(
  store: StoreService,
  objects: ObjectsService,
  dayMs: () => number,
  normalizeKey: NormalizeKey,
): Configurations {
  const documents = bucketDocument(store, { name: 'bucket-lifecycle', schema: LifecycleDocument })
  const ready = documents.compiled(({ value, etag }) => ({ ...readyRules(value.rules, normalizeKey, dayMs()), etag }))
  return {
    documents,
    ready,
    configuration(bucket) {
      const document = documents.get(bucket)
      const describe = (found: Awaited<typeof document>) => ({
        rules: found?.value.rules ?? [],
        transitionMinimum: found?.value.transitionMinimum ?? 'all_storage_classes_128K',
        etag: found?.etag ?? noRulesEtag,
      })
      return document instanceof Promise ? document.then(describe) : describe(document)
    },
    async replace(bucket, rules, { ifMatch, transitionMinimum = 'all_storage_classes_128K' } = {}) {
      const preconditions = rulesPreconditions({ ifMatch })
      // Two commits: the worker corrects the index after a crash between them, and for concurrent changes (see `matchIndex`).
      if (rules.length === 0) {
        await documents.replace(bucket, undefined, preconditions)
        await objects.changeBucket(bucket, { dueIndex: 'off' })
        return { rules, transitionMinimum, etag: noRulesEtag }
      }
      const { needsIndex } = readyRules(rules, normalizeKey)
      if (needsIndex) await objects.changeBucket(bucket, { dueIndex: 'on' })
      const value = { rules: [...rules], transitionMinimum }
      const etag = (await documents.replace(bucket, value, preconditions)) ?? noRulesEtag
      if (!needsIndex) await objects.changeBucket(bucket, { dueIndex: 'off' })
      return { rules, transitionMinimum, etag }
    },
  }
}
