/** `Authorization: Basic` as a provider of `auth.provider`: name and password of a user of the directory. */
import { createHmac } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Clock, defineErrors, type Random } from 'svc/kernel'
import type { AuthProvider, Principal, SignedRequest } from 'svc/plugins/iam/api'
import type { LdapConfig } from './config.ts'
import type { Directory } from './directory.ts'
import type { Principals } from './principals.ts'

/** In S3's codes. The Admin API has words of its own for the first. */
export const ldapErrors = defineErrors({
  AccessDenied: { status: 403, title: 'Access Denied' },
  ServiceUnavailable: { status: 503, title: 'The directory of users does not answer. Please retry.' },
})

export interface LdapProviderOptions {
  readonly directory: Directory
  readonly principals: Pick<Principals, 'make'>
  readonly ports: { readonly clock: Clock; readonly random: Random }
  readonly config: Pick<LdapConfig, 'allowPlain' | 'remember'>
}

/** Names that need no escapes in a DN. */
const userPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
const passwordCharsMax = 1024
/** Right passwords that are remembered. */
const rememberedMax = 10_000
/** Questions that the directory has at once from this thread; others are refused, so that guessing does not hold up everybody. */
const questionsMax = 32

export function createLdapProvider({ directory, principals, ports, config }: LdapProviderOptions): AuthProvider {
  const { clock, random } = ports
  // By HMAC(key of this process, name and password), so that memory holds no password after its request.
  const key = random.bytes(32)
  const remembered = new LRUCache<string, { readonly principal: Principal; readonly untilMs: number }>({
    max: rememberedMax,
  })
  let questions = 0

  async function ask(user: string, password: string, mark: string): Promise<Principal> {
    if (questions >= questionsMax) throw ldapErrors.ServiceUnavailable('Too many logins at once. Please retry.')
    questions++
    try {
      const entry = await directory.verify(user, password).catch(cause => {
        throw ldapErrors.ServiceUnavailable(undefined, { cause, extra: { 'retry-after': '1' } })
      })
      if (entry === undefined) throw ldapErrors.AccessDenied('The name or the password is wrong.')
      const principal: Principal = { identity: principals.make(user, entry), method: 'header' }
      if (config.remember > 0) remembered.set(mark, { principal, untilMs: clock.now() + config.remember })
      return principal
    } finally {
      questions--
    }
  }

  return {
    authenticate(request) {
      const { authorization } = request.headers
      if (authorization === undefined || !/^basic /i.test(authorization)) return undefined
      requireSafeWay(request, config.allowPlain)
      const [user, password] = parseBasic(authorization)
      const mark = createHmac('sha256', key).update(`${user}\n${password}`).digest('base64url')
      const found = remembered.get(mark)
      return found !== undefined && clock.now() < found.untilMs ? found.principal : ask(user, password, mark)
    },
  }
}

function requireSafeWay({ secure, headers }: SignedRequest, allowPlain: boolean): void {
  if (!secure && !allowPlain) throw ldapErrors.AccessDenied('Passwords are taken over TLS alone.')
  // A browser adds a password that it knows to whatever a page of somebody else sends.
  if (headers['sec-fetch-site'] !== undefined || headers.origin !== undefined) {
    throw ldapErrors.AccessDenied('Passwords are not taken from pages.')
  }
}

function parseBasic(authorization: string): readonly [user: string, password: string] {
  const text = Buffer.from(authorization.slice('basic '.length), 'base64').toString('utf8')
  const colon = text.indexOf(':')
  const [user, password] = [text.slice(0, Math.max(colon, 0)), text.slice(colon + 1)]
  if (!userPattern.test(user) || password === '' || password.length > passwordCharsMax) {
    throw ldapErrors.AccessDenied('The name or the password is wrong.')
  }
  return [user, password]
}
