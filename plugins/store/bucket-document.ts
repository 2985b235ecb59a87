/**
 * The documents that configure buckets: CORS, lifecycle, policy, default encryption and others. A bucket has at most one document of each
 * kind. It is deleted with the bucket, and a new one also replaces one that cannot be read.
 */
import { hash } from 'node:crypto'
import type { MaybePromise } from 'svc/kernel'
import { type Static, type TArray, type TObject, type TSchema, Type } from 'typebox'
import type { Collection, Preconditions, StoreService, TransactionBuilder } from './api.ts'

export interface BucketDocument<T>
  extends Pick<Collection<T>, 'get' | 'list' | 'watch' | 'compiled' | 'problem' | 'check'> {
  /** Part of the stored format. */
  readonly name: string
  /** Like `replace`, as part of a transaction. */
  stage(tx: TransactionBuilder, bucket: string, value: T | undefined): void
  /**
   * The value; undefined if the bucket has none. If it cannot be read, the result of `unreadable`, which may throw: a missing document
   * often means more rights than the document would give.
   */
  read<U = never>(bucket: string, unreadable: (problem: string) => U): MaybePromise<T | U | undefined>
  /** Stores the value instead of the former one; `undefined` removes it. Resolves with the new ETag. Rejects with `storeErrors`. */
  replace(bucket: string, value: T | undefined, preconditions?: Preconditions): Promise<string | undefined>
}

/** Declares a kind, by its name in the stored format. During set-up, in every thread. */
export function bucketDocument<Schema extends TSchema>(
  store: StoreService,
  { name, schema }: { readonly name: string; readonly schema: Schema },
): BucketDocument<Static<Schema>> {
  const documents = store.collection({ name, schema, version: 1, scope: 'bucket' })
  const readMissing = <U>(bucket: string, unreadable: (problem: string) => U): MaybePromise<U | undefined> => {
    const found = documents.problem(bucket)
    const tell = (text: string | undefined) => (text === undefined ? undefined : unreadable(text))
    return found instanceof Promise ? found.then(tell) : tell(found)
  }
  return {
    name,
    stage(tx, bucket, value) {
      if (value === undefined) tx.delete(documents, bucket, { overwriteUnreadable: true })
      else tx.put(documents, bucket, value, { overwriteUnreadable: true })
    },
    check: value => documents.check(value),
    get: bucket => documents.get(bucket),
    list: request => documents.list(request),
    watch: (listener, onResync) => documents.watch(listener, onResync),
    compiled: (compile, bytesOf) => documents.compiled(compile, bytesOf),
    problem: bucket => documents.problem(bucket),
    read(bucket, unreadable) {
      const document = documents.get(bucket)
      if (document instanceof Promise) return document.then(late => late?.value ?? readMissing(bucket, unreadable))
      return document === undefined ? readMissing(bucket, unreadable) : document.value
    },
    async replace(bucket, value, preconditions) {
      const options = { ...preconditions, overwriteUnreadable: true }
      if (value !== undefined) return (await documents.put(bucket, value, options)).etag
      await documents.delete(bucket, options)
      return undefined
    },
  }
}

/** The ETag of an empty list of rules, which has no document. */
export const noRulesEtag = hash('sha256', '{"rules":[]}').slice(0, 32)

/** Converts preconditions on a list of rules, which always exists, to preconditions on its document. */
export function rulesPreconditions({ ifMatch, ifNoneMatch }: Preconditions = {}): Preconditions {
  if (ifMatch === '*') return { ifNoneMatch }
  return ifMatch === noRulesEtag ? { ifNoneMatch: '*' } : { ifMatch, ifNoneMatch }
}

export interface RulesOfBucket<Rule> {
  readonly rules: readonly Rule[]
  readonly etag: string
}

/** A kind whose document is a list of rules; an empty list has no document. */
export interface BucketRules<Rule> extends Omit<BucketDocument<{ rules: Rule[] }>, 'replace'> {
  /** In the order in which they were stored; empty if there are none. */
  rules(bucket: string): MaybePromise<RulesOfBucket<Rule>>
  /** An empty list removes the document. Resolves with the ETag. */
  replace(bucket: string, rules: readonly Rule[], preconditions?: Preconditions): Promise<string>
}

/** Declares a kind of rules. During set-up, in every thread. */
export function bucketRules<Rule extends TSchema>(
  store: StoreService,
  { name, rule }: { readonly name: string; readonly rule: Rule },
): BucketRules<Static<Rule>> {
  const schema: TObject<{ rules: TArray<Rule> }> = Type.Object(
    { rules: Type.Array(rule) },
    { additionalProperties: false },
  )
  type Value = { rules: Static<Rule>[] }
  const documents = bucketDocument(store, { name, schema }) as unknown as BucketDocument<Value>
  return {
    ...documents,
    rules(bucket) {
      const document = documents.get(bucket)
      const describe = (found: Awaited<typeof document>) => ({
        rules: found?.value.rules ?? [],
        etag: found?.etag ?? noRulesEtag,
      })
      return document instanceof Promise ? document.then(describe) : describe(document)
    },
    async replace(bucket, rules, preconditions) {
      const value = rules.length === 0 ? undefined : { rules: [...rules] }
      return (await documents.replace(bucket, value, rulesPreconditions(preconditions))) ?? noRulesEtag
    },
  }
}
