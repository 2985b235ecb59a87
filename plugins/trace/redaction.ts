/** Takes credentials out of queries before they are shown or kept. */

export const redactedText = '*REDACTED*'

/** Parameters that carry credentials by their exact name, in lower case. */
const secretNames = new Set([
  'apikey',
  'api_key',
  'api-key',
  'x-api-key',
  'auth',
  'authorization',
  'sig',
  'jwt',
  'session',
  'sid',
  'policy',
  'code',
  'key-pair-id',
  'awsaccesskeyid',
])
/** Also names that contain one of these. */
const secretParts = /signature|credential|token|passw|secret|customer-key/
/** A position in a listing, which is not a credential. */
const harmlessNames = new Set(['continuation-token'])

/**
 * The raw query with the values of credentials replaced; everything else stays as it came. Names are compared decoded, so
 * that `X-Amz-Sign%61ture` hides nothing.
 */
export function redactQuery(query: string): string {
  if (query === '') return query
  const parameters = query.split('&')
  let changed = false
  for (const [index, parameter] of parameters.entries()) {
    const equals = parameter.indexOf('=')
    if (equals < 0 || equals === parameter.length - 1) continue
    if (isSecretParameter(parameter.slice(0, equals), parameter.slice(equals + 1))) {
      parameters[index] = `${parameter.slice(0, equals)}=${redactedText}`
      changed = true
    }
  }
  return changed ? parameters.join('&') : query
}

/**
 * An address with its query redacted. A page that was opened by a signed URL is the referer of all that it loads: the signature would be in
 * the log line of each.
 */
export function redactUrl(url: string): string {
  const mark = url.indexOf('?')
  return mark < 0 ? url : `${url.slice(0, mark)}?${redactQuery(url.slice(mark + 1))}`
}

/** Clients repeat the same few names; the number of remembered ones is bounded. */
const knownNamesMax = 512
const knownNameCharsMax = 64
const knownNames = new Map<string, boolean>()

/** Whether the value of a parameter is a credential, or an address that has one; both as they came, still encoded. */
export function isSecretParameter(rawName: string, rawValue: string): boolean {
  return isSecretName(rawName) || holdsSecret(rawValue)
}

const decodingsMax = 3
const equalsSign = /=|%(?:25)*3d/i
const innerParameter = /[?&;]([^?&;=]+)=(?!$)/g

/** A signed link as the value of a parameter, or appended to a query with a second question mark. */
function holdsSecret(rawValue: string): boolean {
  if (!equalsSign.test(rawValue)) return false
  let value = rawValue
  for (let i = 0; i < decodingsMax && value.includes('%'); i++) value = decodeLeniently(value)
  for (const [, name] of value.matchAll(innerParameter)) if (isSecret(name!)) return true
  return false
}

/** Decodes only ASCII: names and separators have no other characters, and an invalid sequence must not hide what follows it. */
function decodeLeniently(text: string): string {
  return text.replace(/%([2-7][0-9a-f])/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
}

function isSecretName(rawName: string): boolean {
  const known = knownNames.get(rawName)
  if (known !== undefined) return known
  const found = isSecret(rawName)
  if (knownNames.size < knownNamesMax && rawName.length <= knownNameCharsMax) {
    // A copy: the name is a slice that would keep the head of its request alive.
    knownNames.set(Buffer.from(rawName, 'latin1').latin1Slice(), found)
  }
  return found
}

function isSecret(rawName: string): boolean {
  let name = rawName
  if (name.includes('%')) {
    try {
      name = decodeURIComponent(name)
    } catch {
      // Undecodable, so no name that anybody reads a credential from; but the raw text is checked all the same.
    }
  }
  name = name.toLowerCase()
  return !harmlessNames.has(name) && (secretNames.has(name) || secretParts.test(name))
}
