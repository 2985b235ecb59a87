/** Failures of brokers in our words, because theirs may repeat the request. */

export interface Failure {
  /** A sentence for operators, without secrets. */
  readonly reason: string
  /** The brokers will never take the records. */
  readonly isPermanent: boolean
}

/** Source: "Error Codes" of the protocol, https://kafka.apache.org/protocol#protocol_error_codes. */
const refusedForGood: ReadonlySet<string> = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD'])
const sentences: Readonly<Record<string, string>> = {
  UNKNOWN_TOPIC_OR_PARTITION: 'The topic does not exist, and is not created.',
  INVALID_TOPIC_EXCEPTION: 'The topic cannot be written to.',
  TOPIC_AUTHORIZATION_FAILED: 'The brokers do not let this user write to the topic.',
  CLUSTER_AUTHORIZATION_FAILED: 'The brokers refuse this user.',
  SASL_AUTHENTICATION_FAILED: 'The brokers refuse the user or the password.',
  UNSUPPORTED_SASL_MECHANISM: 'The brokers do not know this sasl_mechanism.',
  UNSUPPORTED_COMPRESSION_TYPE: 'The brokers do not know this compression.',
  NOT_ENOUGH_REPLICAS: 'Too few replicas of the topic are available.',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'Too few replicas of the topic are available.',
}
const errorsMax = 64

interface Known {
  /** The reason why the guard refuses an address, in our words. */
  readonly refusals: readonly string[]
  readonly apiIds: readonly string[]
  readonly codes: readonly string[]
  readonly messages: readonly string[]
}

/** From an error of the client and its causes. */
export function describeFailure(error: unknown): Failure {
  const { refusals, apiIds, codes, messages } = collect(error)
  const permanent = apiIds.find(id => refusedForGood.has(id))
  if (permanent !== undefined) return { reason: `The brokers refuse the message: ${permanent}.`, isPermanent: true }
  return { reason: reasonOf({ refusals, apiIds, codes, messages }), isPermanent: false }
}

function reasonOf({ refusals, apiIds, codes, messages }: Known): string {
  if (refusals.length > 0) return `A broker cannot be used: ${refusals[0]}.`
  const known = apiIds.find(id => id in sentences)
  if (known !== undefined) return sentences[known]!
  if (messages.some(message => message.startsWith('Unknown topic'))) return sentences.UNKNOWN_TOPIC_OR_PARTITION!
  if (codes.includes('PLT_KFK_AUTHENTICATION')) return 'Logging in to the brokers fails.'
  if (apiIds.length > 0) return `The brokers answer ${apiIds[0]}.`
  if (messages.includes('Broker requires TLS.')) return 'The brokers ask for TLS.'
  if (messages.some(message => message.startsWith('TLS handshake failed'))) return 'The brokers have no TLS.'
  // Of Node.js: ECONNREFUSED, ENOTFOUND, DEPTH_ZERO_SELF_SIGNED_CERT, ERR_TLS_CERT_ALTNAME_INVALID
  const system = codes.find(code => !code.startsWith('PLT_KFK_'))
  if (system !== undefined) return `The brokers cannot be reached: ${system}.`
  if (messages.some(message => message.includes('timed out'))) return 'The brokers do not answer in time.'
  if (codes.includes('PLT_KFK_NETWORK')) return 'The brokers closed the connection.'
  return 'The answer of the brokers cannot be read.'
}

function collect(error: unknown): Known {
  const refusals: string[] = []
  const apiIds: string[] = []
  const codes: string[] = []
  const messages: string[] = []
  const waiting: unknown[] = [error]
  for (let i = 0; i < waiting.length && i < errorsMax; i++) {
    const at = waiting[i]
    if (!(at instanceof Error)) continue
    const { apiId, code, errors, cause } = at as Error & { apiId?: unknown; code?: unknown; errors?: unknown }
    if (typeof apiId === 'string' && /^[A-Z_]+$/.test(apiId)) apiIds.push(apiId)
    if (typeof code === 'string' && /^[A-Z0-9_]+$/.test(code)) codes.push(code)
    messages.push(at.message)
    // By name, because this thread has another class.
    if (at.name === 'HttpClientError') refusals.push(at.message)
    if (Array.isArray(errors)) waiting.push(...errors)
    if (cause !== undefined) waiting.push(cause)
  }
  return { refusals, apiIds, codes, messages }
}
