/** Compiles policy documents: text to statements that can be evaluated, or to a list of all problems with their positions. */
import type { Catalogue } from './catalogue.ts'
import { asItIs, type NormalizeKey } from './config.ts'
import { kindOf, readMembers, readText } from './elements.ts'
import { type JsonNode, type JsonObject, readJson } from './json-reader.ts'
import { type PolicyProblem, Problems, quote } from './problems.ts'
import { elementNames, keysOf, readStatement, type Statement } from './statement.ts'

/**
 * `identity`: attached to users and groups; has no principals. `session`: embedded in an access key; the same syntax as `identity`.
 * `bucket`: attached to a bucket; names its principals.
 */
export type PolicyKind = 'identity' | 'session' | 'bucket'

export interface PolicyDocument {
  readonly Version: '2012-10-17' | '2008-10-17'
  readonly Id?: string
  readonly Statement: readonly StatementDocument[]
}

type Texts = string | readonly string[]
type ConditionValue = string | number | boolean

/** As written: a text or a list. */
export interface StatementDocument {
  readonly Sid?: string
  readonly Effect: 'Allow' | 'Deny'
  readonly Principal?: '*' | Readonly<Record<string, Texts>>
  readonly NotPrincipal?: '*' | Readonly<Record<string, Texts>>
  readonly Action?: Texts
  readonly NotAction?: Texts
  readonly Resource?: Texts
  readonly NotResource?: Texts
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, ConditionValue | readonly ConditionValue[]>>>>
}

/** A valid policy. Only `compile` creates it; callers pass it back unchanged. */
export interface CompiledPolicy {
  readonly kind: PolicyKind
  /** The elements in a fixed order, and `Statement` always a list; otherwise unchanged. */
  readonly document: PolicyDocument
  /** The document as compact JSON: equal for documents that differ only in the order and white space of their elements. */
  readonly json: string
  readonly statements: readonly Statement[]
  /** A statement allows something to everybody. */
  readonly isPublic: boolean
  readonly warnings: readonly PolicyProblem[]
}

export type CompileResult =
  | { readonly policy: CompiledPolicy; readonly errors: undefined; readonly warnings: readonly PolicyProblem[] }
  | {
      readonly policy: undefined
      readonly errors: readonly PolicyProblem[]
      readonly warnings: readonly PolicyProblem[]
    }

export interface CompileOptions {
  readonly kind: PolicyKind
  /** For a bucket policy: the bucket that every resource must name. */
  readonly bucket?: string
}

/** UTF-8 bytes of a document, as AWS limits bucket policies. */
export const documentBytesMax = 20 * 1024
export const statementsMax = 200
/**
 * Cost of all patterns of a document (see `patternCost`), so that the worst key and the worst headers take some milliseconds. A thousand ARNs
 * with a star in the middle of each would not fit into a document.
 */
export const patternCostMax = 1024

const documentElements = ['Version', 'Id', 'Statement'] as const

/** Compiles a document. An object is converted to text by `JSON.stringify` with an indent of 2. */
export function compileDocument(
  input: unknown,
  options: CompileOptions,
  catalogue: Catalogue,
  normalizeKey: NormalizeKey = asItIs,
): CompileResult {
  const text = typeof input === 'string' ? input : (JSON.stringify(input, undefined, 2) ?? '')
  // The limit does not count the white space that this function adds to an object.
  const bytes = Buffer.byteLength(typeof input === 'string' ? text : (JSON.stringify(input) ?? ''))
  if (bytes > documentBytesMax) {
    const problems = new Problems('')
    problems.error(0, '', `The document has ${bytes} bytes; at most ${documentBytesMax} are allowed.`)
    return { policy: undefined, errors: problems.errors(), warnings: [] }
  }
  const problems = new Problems(text)
  const root = readJson(text, (at, message) => problems.error(at, '', message))
  const policy = root === undefined ? undefined : readPolicy(root, options, catalogue, normalizeKey, problems)
  const warnings = problems.warnings()
  if (policy === undefined || problems.hasErrors) return { policy: undefined, errors: problems.errors(), warnings }
  return { policy: Object.freeze({ ...policy, warnings }), errors: undefined, warnings }
}

function readPolicy(
  root: JsonNode,
  { kind, bucket }: CompileOptions,
  catalogue: Catalogue,
  normalizeKey: NormalizeKey,
  problems: Problems,
): Omit<CompiledPolicy, 'warnings'> | undefined {
  if (root.kind !== 'object') {
    problems.error(root.at, '', `A policy is an object, not ${kindOf(root)}.`)
    return undefined
  }
  const members = readMembers(root, documentElements, 'A policy', problems)
  const version = readVersion(members.get('Version'), root, problems)
  const idNode = members.get('Id')
  const id = idNode === undefined ? undefined : readText(idNode, 'Id', problems)
  const nodes = statementNodes(members.get('Statement'), root, problems)
  const options = { kind, bucket, catalogue, normalizeKey, variables: version === '2012-10-17' }
  const sids = new Set<string>()
  const statements: Statement[] = []
  let patternCost = 0
  for (const [index, node] of nodes.entries()) {
    problems.statement = index
    problems.sid = undefined
    if (node.kind !== 'object') {
      problems.error(node.at, 'Statement', `A statement is an object, not ${kindOf(node)}.`)
      continue
    }
    const statement = readStatement(node, index, options, problems)
    const { sid } = statement
    if (sid !== '' && sids.has(sid))
      problems.error(node.at, 'Sid', `The Sid ${quote(sid)} stands in another statement too.`)
    sids.add(sid)
    patternCost += costOf(statement)
    if (patternCost > patternCostMax) {
      problems.error(node.at, 'Statement', tooManyPatterns)
      break
    }
    if (problems.hasErrors) continue
    const document = statementDocument(node)
    statements.push(Object.freeze({ ...statement, document, keys: keysOf(statement.conditions, document) }))
  }
  problems.statement = undefined
  problems.sid = undefined
  if (problems.hasErrors) return undefined
  const document: PolicyDocument = Object.freeze({
    Version: version,
    ...(id === undefined ? {} : { Id: id }),
    Statement: Object.freeze(statements.map(statement => statement.document)),
  })
  const isPublic = statements.some(statement => statement.isPublic)
  return { kind, document, json: JSON.stringify(document), statements: Object.freeze(statements), isPublic }
}

const tooManyPatterns = `Up to this statement the policy has too many wildcards: at most ${patternCostMax} texts between two * are allowed, and one with a ? counts 8 for each 32 characters.`

function costOf({ resources, conditions }: Pick<Statement, 'resources' | 'conditions'>): number {
  return conditions.reduce((sum, { cost }) => sum + cost, resources?.cost ?? 0)
}

function readVersion(node: JsonNode | undefined, root: JsonObject, problems: Problems): PolicyDocument['Version'] {
  if (node === undefined) {
    const taken = 'The policy has no Version and is taken as of "2008-10-17", without variables: write "2012-10-17".'
    problems.warn(root.at, 'Version', taken)
    return '2008-10-17'
  }
  const text = readText(node, 'Version', problems)
  if (text === '2012-10-17' || text === '2008-10-17') return text
  if (text !== undefined) {
    problems.error(node.at, 'Version', `There is no version ${quote(text)}: write "2012-10-17" (or "2008-10-17").`)
  }
  return '2012-10-17'
}

function statementNodes(node: JsonNode | undefined, root: JsonObject, problems: Problems): readonly JsonNode[] {
  if (node === undefined) {
    problems.error(root.at, 'Statement', 'The policy has no Statement.')
    return []
  }
  if (node.kind === 'object') return [node]
  if (node.kind !== 'list') {
    problems.error(node.at, 'Statement', `Statement is a list of statements, not ${kindOf(node)}.`)
    return []
  }
  if (node.items.length === 0) problems.error(node.at, 'Statement', 'The policy has no statement in its list.')
  if (node.items.length > statementsMax) {
    problems.error(
      node.at,
      'Statement',
      `The policy has ${node.items.length} statements; at most ${statementsMax} are allowed.`,
    )
  }
  return node.items.slice(0, statementsMax)
}

/** The elements in their fixed order. Every name was checked, so none is special to objects (`__proto__`). */
function statementDocument(node: JsonObject): StatementDocument {
  const members = new Map(node.members.map(({ key, value }) => [key, value]))
  const entries = elementNames.flatMap(name => (members.has(name) ? [[name, plainValue(members.get(name)!)]] : []))
  return deepFreeze(Object.fromEntries(entries))
}

function plainValue(node: JsonNode): unknown {
  if (node.kind === 'list') return node.items.map(plainValue)
  if (node.kind !== 'object') return node.value
  return Object.fromEntries(node.members.map(({ key, value }) => [key, plainValue(value)]))
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const item of Object.values(value)) deepFreeze(item)
  return Object.freeze(value)
}
