/** The output of `cache inspect` for people: the decision and the stored answers. `--json` has all fields of the policy. */
import type { Answer } from './overrides.ts'

interface Policy {
  readonly enabled: boolean
  readonly enabledLevel: string
  readonly policyName: string
  readonly policyLevel: string
  readonly policy: Answer
  /** The level that each field is from; of those of the policy itself it is the level that names the policy. */
  readonly fields: Readonly<Record<string, string>>
  readonly cacheControl: string
  readonly autoInvalidate: boolean
  /** Ids of webhooks. */
  readonly purgeWebhooks?: readonly string[]
}

interface Entry {
  readonly present: boolean
  readonly tier: string
  readonly ageSeconds: number
  readonly expiresInSeconds: number
  readonly stale: boolean
  readonly sizeBytes: number
  readonly encodings: readonly string[]
}

interface Node {
  readonly node: string
  readonly error: string
  readonly entry?: Entry
}

export function inspectionForPeople(answer: Answer): Answer {
  const { distribution, host, path, bucket, key, cacheKey, bypass, reason, nodes } = answer
  const policy = answer.policy as Policy
  const set = Object.entries(policy.fields).filter(([, level]) => level !== 'default' && level !== policy.policyLevel)
  const values = { ...(policy.policy as Answer), purgeWebhooks: policy.purgeWebhooks }
  return {
    cached: bypass === true ? `no: ${reason}` : 'yes',
    distribution,
    address: `${host}${path}`,
    object: `${bucket}/${key}`,
    cacheKey,
    policy: `${policy.policyName} (${policy.policyLevel})`,
    cacheControl: policy.cacheControl,
    autoInvalidate: policy.autoInvalidate,
    ...(set.length > 0 && {
      setBeyondThePolicy: set.map(([field, level]) => ({ field, value: textOf(valueAt(values, field)), level })),
    }),
    nodes: (nodes as readonly Node[]).map(describeNode),
  }
}

function describeNode({ node, error, entry }: Node): Answer {
  if (entry?.present !== true) return { node, has: 'nothing', ...(error !== '' && { error }) }
  const { tier, ageSeconds, expiresInSeconds, stale, sizeBytes, encodings } = entry
  return {
    node,
    has: stale ? 'an expired answer' : 'a fresh answer',
    tier,
    ageSeconds,
    expiresInSeconds,
    sizeBytes,
    encodings: encodings.map(encoding => encoding || 'identity').join(', '),
  }
}

/** `ttl.default` of an object in an object. */
const valueAt = (of: unknown, field: string): unknown =>
  field.split('.').reduce((value, name) => (value as Answer | undefined)?.[name], of)

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null))
