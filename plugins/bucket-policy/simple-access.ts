/**
 * Simple access: presets for prefixes, stored as statements of the bucket's policy. A statement belongs to a preset if it equals the
 * statement that the preset would write; all other statements are left unchanged.
 */
import type { StatementDocument } from 'svc/plugins/policy/api'

/**
 * `download`: everybody may read objects whose names they know. `download-list`: also list them. `upload`: everybody may write them, and
 * read none. `public`: everybody may read, write, delete and list. `private`: no rule.
 */
export type Preset = 'private' | 'download' | 'download-list' | 'upload' | 'public'

export interface SimpleRule {
  readonly prefix: string
  readonly preset: Exclude<Preset, 'private'>
}

const reads = ['s3:GetObject']
const writes = ['s3:PutObject', 's3:AbortMultipartUpload', 's3:ListMultipartUploadParts']
const actionsOf: Readonly<Record<SimpleRule['preset'], readonly string[]>> = {
  download: reads,
  'download-list': reads,
  upload: writes,
  public: [...reads, ...writes, 's3:DeleteObject'],
}

/** These have a second statement. */
const lists: ReadonlySet<Preset> = new Set(['download-list', 'public'])

/** Characters with a special meaning in a resource. */
export const unusableInPrefix = /[*?$]/

/** The presets of a policy, by prefix. */
export function rulesOf(bucket: string, statements: readonly StatementDocument[]): readonly SimpleRule[] {
  const listings = new Set(statements.map(statement => JSON.stringify(statement)))
  const rules = statements.flatMap(statement => {
    const rule = ruleOf(bucket, statement)
    if (rule?.preset !== 'download') return rule ?? []
    // Both begin with the same statement.
    const isListed = listings.has(JSON.stringify(listingOf(bucket, rule.prefix)))
    return isListed ? [{ ...rule, preset: 'download-list' as const }] : [rule]
  })
  return rules.toSorted((a, b) => (a.prefix < b.prefix ? -1 : a.prefix > b.prefix ? 1 : 0))
}

/** The statements after replacing the preset of a prefix; empty if none is left. */
export function withPreset(
  bucket: string,
  statements: readonly StatementDocument[],
  prefix: string,
  preset: Preset,
): readonly StatementDocument[] {
  const rules = statements.map(statement => ruleOf(bucket, statement))
  const wasListed = rulesOf(bucket, statements).some(rule => rule.prefix === prefix && lists.has(rule.preset))
  const listing = wasListed ? JSON.stringify(listingOf(bucket, prefix)) : undefined
  const others = statements.filter(
    (statement, index) => rules[index]?.prefix !== prefix && JSON.stringify(statement) !== listing,
  )
  if (preset === 'private') return others
  const own = [statementOf(bucket, { prefix, preset })]
  return lists.has(preset) ? [...others, ...own, listingOf(bucket, prefix)] : [...others, ...own]
}

function ruleOf(bucket: string, statement: StatementDocument): SimpleRule | undefined {
  const { Resource, Action } = statement
  const start = `arn:aws:s3:::${bucket}/`
  if (typeof Resource !== 'string' || !Resource.startsWith(start) || !Resource.endsWith('*')) return undefined
  const prefix = Resource.slice(start.length, -1)
  const text = JSON.stringify(statement)
  for (const preset of ['download', 'upload', 'public'] as const) {
    if (Action?.length !== actionsOf[preset].length) continue
    if (text === JSON.stringify(statementOf(bucket, { prefix, preset }))) return { prefix, preset }
  }
  return undefined
}

/** Elements in the order in which the engine keeps them. */
function statementOf(bucket: string, { prefix, preset }: SimpleRule): StatementDocument {
  return {
    Effect: 'Allow',
    Principal: '*',
    Action: actionsOf[preset],
    Resource: `arn:aws:s3:::${bucket}/${prefix}*`,
  }
}

function listingOf(bucket: string, prefix: string): StatementDocument {
  const statement: StatementDocument = {
    Effect: 'Allow',
    Principal: '*',
    Action: 's3:ListBucket',
    Resource: `arn:aws:s3:::${bucket}`,
  }
  return prefix === '' ? statement : { ...statement, Condition: { StringLike: { 's3:prefix': `${prefix}*` } } }
}
