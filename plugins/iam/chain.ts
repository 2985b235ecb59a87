/** The chain of `auth.provider`: the first provider that recognizes the credentials of a request decides, and no other is asked. */
import type { IncomingHttpHeaders } from 'node:http'
import { type Contribution, isCatalogError, type MaybePromise } from 'svc/kernel'
import type { AuthAnswer, AuthChain, Authentication, AuthProvider, SignatureThrottle } from './authentication.ts'
import { iamErrors } from './errors.ts'

/** The contribution to `auth.anonymous`. */
export type ReadAnonymous = (headers: IncomingHttpHeaders) => Authentication

export interface OpenedChain extends AuthChain {
  /** To be called before the first request. */
  open(
    providers: readonly Contribution<AuthProvider>[],
    readAnonymous: ReadAnonymous | undefined,
    throttle: SignatureThrottle | undefined,
  ): void
}

/** Names of parameters in plain text: clients do not percent-encode them. */
const signatureParameter = /(?:^|&)X-Amz-(?:Algorithm|Signature|Credential)(?=[=&]|$)/
const accessKeyParameter = /(?:^|&)AWSAccessKeyId(?=[=&]|$)/

const noHeaders: IncomingHttpHeaders = Object.freeze({})

export function createAuthChain(): OpenedChain {
  let providers: readonly AuthProvider[] = []
  let throttle: SignatureThrottle | undefined
  let readAnonymous: ReadAnonymous = () => {
    throw new Error('no plugin contributes to "auth.anonymous", so that requests without credentials cannot be served')
  }

  /** Refuses a request whose credentials a provider recognized without returning an identity. */
  function complete(headers: IncomingHttpHeaders, answer: AuthAnswer): Authentication {
    if (answer?.identity === undefined) throw iamErrors.AccessDenied()
    if (answer.createDecoder !== undefined) return answer
    const body = readAnonymous(headers)
    return { ...answer, payload: body.payload, createDecoder: () => body.createDecoder() }
  }

  /** Only what may be a guess: a right signature that is refused for another reason is none. */
  function refuse(clientAddress: string, error: unknown): never {
    if (throttle !== undefined && isCatalogError(error)) {
      if (error.code === 'SignatureDoesNotMatch') throttle.failed(clientAddress, error.extra?.AWSAccessKeyId)
      else if (error.code === 'InvalidAccessKeyId') throttle.failed(clientAddress, undefined)
    }
    throw error
  }

  const completed = (
    headers: IncomingHttpHeaders,
    answer: MaybePromise<AuthAnswer>,
    clientAddress: string,
  ): MaybePromise<Authentication> =>
    answer instanceof Promise
      ? answer.then(complete.bind(undefined, headers), refuse.bind(undefined, clientAddress))
      : complete(headers, answer)

  /** The answer of the first provider that recognizes the credentials. */
  function decide(
    clientAddress: string,
    headers: IncomingHttpHeaders,
    ask: (provider: AuthProvider) => MaybePromise<AuthAnswer> | undefined,
  ): MaybePromise<Authentication> | undefined {
    try {
      for (const provider of providers) {
        const answer = ask(provider)
        if (answer !== undefined) return completed(headers, answer, clientAddress)
      }
    } catch (error) {
      refuse(clientAddress, error)
    }
    return undefined
  }

  return {
    open(given, read, counting) {
      throttle = counting
      providers = inDeclaredOrder(given)
      if (read !== undefined) readAnonymous = read
    },

    authenticate(request, clientAddress) {
      const { headers, rawQuery } = request
      if (headers.authorization && rawQuery !== '' && signatureParameter.test(rawQuery)) throw onlyOneMechanism()
      const guard = throttle?.guard(clientAddress)
      const decided = decide(clientAddress, headers, provider => provider.authenticate(request, guard))
      if (decided !== undefined) return decided
      if (headers.authorization) throw unsupportedScheme(headers.authorization)
      if (accessKeyParameter.test(rawQuery)) throw iamErrors.InvalidRequest()
      return readAnonymous(headers)
    },

    authenticateForm(fields, clientAddress) {
      const guard = throttle?.guard(clientAddress)
      const decided = decide(clientAddress, noHeaders, provider => provider.authenticateForm?.(fields, guard))
      if (decided !== undefined) return decided
      if (fields.has('awsaccesskeyid') || fields.has('signature')) throw iamErrors.InvalidRequest()
      return readAnonymous(noHeaders)
    },

    authenticateDocument(request, signed, clientAddress) {
      const guard = throttle?.guard(clientAddress)
      const decided = decide(clientAddress, noHeaders, one => one.authenticateDocument?.(request, signed, guard))
      if (decided !== undefined) return decided
      const { authorization } = request.headers
      if (authorization) throw unsupportedScheme(authorization)
      return readAnonymous(noHeaders)
    },
  }
}

/** In the order of contribution, but each before the providers that it names. Throws if two providers must each come before the other. */
export function inDeclaredOrder(contributions: readonly Contribution<AuthProvider>[]): readonly AuthProvider[] {
  const placed = new Set<Contribution<AuthProvider>>()
  const place = (one: Contribution<AuthProvider>, waiting: readonly string[]): void => {
    if (placed.has(one)) return
    if (waiting.includes(one.id)) {
      throw new Error(
        `these contributions to "auth.provider" must each be asked before the other: ${waiting.join(', ')}`,
      )
    }
    for (const other of contributions) if (other.value.before?.includes(one.id)) place(other, [...waiting, one.id])
    placed.add(one)
  }
  for (const one of contributions) place(one, [])
  return [...placed].map(({ value }) => value)
}

function onlyOneMechanism(): Error {
  return iamErrors.InvalidArgument(
    'Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified',
    { extra: { ArgumentName: 'Authorization' } },
  )
}

/** Never repeats the text after the scheme: in other schemes it is a password or a token. */
function unsupportedScheme(authorization: string): Error {
  if (authorization === 'AWS' || authorization.startsWith('AWS ')) return iamErrors.InvalidRequest()
  return iamErrors.InvalidArgument(undefined, { extra: { ArgumentName: 'Authorization' } })
}
