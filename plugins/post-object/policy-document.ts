/**
 * The policy document of a form: until when it holds, and what each field may be. Source: AWS "POST policy". Conditions are compared
 * with the fields after `${filename}` was put in.
 */
import { s3Errors } from 'svc/plugins/s3/api'
import { formErrors } from './errors.ts'

export interface SizeRange {
  readonly bytesMin: number
  readonly bytesMax: number
}

interface Condition {
  readonly operator: 'eq' | 'starts-with'
  /** Lower case, without `$`. */
  readonly field: string
  /** The name as the policy writes it, for refusals. */
  readonly named: string
  readonly value: string
}

interface PolicyDocument {
  readonly expiresMs: number
  readonly conditions: readonly Condition[]
  /** The narrowest of all that are said. */
  readonly size: SizeRange | undefined
}

/** Fields that need no condition. */
const unconditional = new Set(['file', 'policy', 'x-amz-signature', 'awsaccesskeyid', 'signature'])
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/

/** Throws InvalidPolicyDocument. `text`: the field `policy`, Base64 of JSON. */
export function readPolicy(text: string): PolicyDocument {
  const document = parse(text)
  for (const name in document) {
    if (name !== 'expiration' && name !== 'conditions') throw invalid(`Unexpected: '${name}'.`)
  }
  const { expiration, conditions: listed } = document
  if (typeof expiration !== 'string') throw invalid('Policy missing expiration.')
  const expiresMs = instant.test(expiration) ? Date.parse(expiration) : Number.NaN
  if (Number.isNaN(expiresMs)) throw invalid(`Invalid 'expiration' value: '${expiration}'`)
  if (!Array.isArray(listed)) throw invalid('Policy missing conditions.')
  const conditions: Condition[] = []
  let size: SizeRange | undefined
  for (const item of listed as readonly unknown[]) {
    if (!Array.isArray(item)) conditions.push(readSimple(item))
    else if (String(item[0]).toLowerCase() === 'content-length-range') size = narrower(size, readRange(item))
    else conditions.push(readCondition(item))
  }
  return { expiresMs, conditions, size }
}

function parse(text: string): Record<string, unknown> {
  let document: unknown
  try {
    document = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'base64')))
  } catch (cause) {
    throw formErrors.InvalidPolicyDocument('Invalid Policy: Invalid JSON.', { cause })
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) throw invalid('Invalid JSON.')
  return document as Record<string, unknown>
}

/** `{"bucket": "photos"}` means that the field is just that. */
function readSimple(item: unknown): Condition {
  const entries = typeof item === 'object' && item !== null ? Object.entries(item) : []
  if (entries.length !== 1) {
    throw invalid('Invalid Simple-Condition: Simple-Conditions must have exactly one property specified.')
  }
  const [[name, value]] = entries as [[string, unknown]]
  if (typeof value !== 'string') throw invalid('Invalid Simple-Condition: value must be a string.')
  return { operator: 'eq', field: name.toLowerCase(), named: name, value }
}

function readCondition(item: readonly unknown[]): Condition {
  const [name, field, value] = item
  const operator = String(name).toLowerCase()
  if (operator !== 'eq' && operator !== 'starts-with') throw invalid(`Invalid Condition: unknown operation '${name}'.`)
  if (item.length !== 3 || typeof field !== 'string' || typeof value !== 'string' || !field.startsWith('$')) {
    throw invalid(`Invalid ${operator}: it takes a field that begins with $ and a value.`)
  }
  const named = field.slice(1)
  return { operator, field: named.toLowerCase(), named, value }
}

function readRange(item: readonly unknown[]): SizeRange {
  const [bytesMin, bytesMax] = [readSize(item[1]), readSize(item[2])]
  if (item.length !== 3 || bytesMin > bytesMax) throw invalid('Invalid content-length-range.')
  return { bytesMin, bytesMax }
}

function readSize(value: unknown): number {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string' || !/^\d{1,15}$/.test(text)) throw invalid('Invalid content-length-range.')
  return Number(text)
}

function narrower(known: SizeRange | undefined, more: SizeRange): SizeRange {
  if (known === undefined) return more
  return { bytesMin: Math.max(known.bytesMin, more.bytesMin), bytesMax: Math.min(known.bytesMax, more.bytesMax) }
}

/**
 * Throws AccessDenied unless the policy holds now and allows each field. The bucket counts as a field. Keys are compared in the
 * form in which they are stored, or a prefix that ends in a letter would allow what becomes another letter.
 */
export function requirePolicy(
  policy: PolicyDocument,
  fields: ReadonlyMap<string, string>,
  bucket: string,
  nowMs: number,
  normalizeKey: (key: string) => string,
): void {
  if (nowMs >= policy.expiresMs) throw denied('Policy expired.')
  const conditioned = new Set<string>()
  for (const condition of policy.conditions) {
    const { operator, field, named, value } = condition
    conditioned.add(field)
    const given = field === 'bucket' ? bucket : (fields.get(field) ?? '')
    const isHeld =
      field === 'key'
        ? holds({ ...condition, value: normalizeKey(value) }, normalizeKey(given))
        : holds(condition, given)
    if (!isHeld) {
      const quoted = [operator, `$${named}`, value].map(text => JSON.stringify(text))
      throw denied(`Policy Condition failed: [${quoted.join(', ')}]`)
    }
  }
  const extra = ['bucket', ...fields.keys()].filter(
    name => !conditioned.has(name) && !unconditional.has(name) && !name.startsWith('x-ignore-'),
  )
  if (extra.length > 0) throw denied(`Extra input fields: ${[...new Set(extra)].join(', ')}`)
}

function holds({ operator, field, value }: Condition, given: string): boolean {
  if (operator === 'eq') return given === value
  // A list of types, as browsers send for several files: each must fit.
  if (field === 'content-type') return given.split(',').every(type => type.trimStart().startsWith(value))
  return given.startsWith(value)
}

function invalid(detail: string) {
  return formErrors.InvalidPolicyDocument(`Invalid Policy: ${detail}`)
}

function denied(detail: string) {
  return s3Errors.AccessDenied(`Invalid according to Policy: ${detail}`)
}
