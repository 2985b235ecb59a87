/**
 * The contract suite of the extension point `auth.provider`: the guarantees that the chain relies on.
 *
 *     t.test('the provider keeps the contract', t => authProviderContract(t, async t => ({
 *       provider: myProvider,
 *       good: () => ({ ...plainRequest, headers: { authorization: 'Basic …' } }),
 *       wrong: () => [{ ...plainRequest, headers: { authorization: 'Basic …' } }],
 *       secrets: ['the password'],
 *     })))
 */
import { inspect } from 'node:util'
import { isCatalogError } from 'svc/kernel'
import { type ContractSuite, contractSuite } from 'svc/testing'
import type { AuthAnswer, AuthProvider, SignedRequest } from './api.ts'

export interface AuthProviderSubject {
  readonly provider: AuthProvider
  /** A new request with good credentials of this kind. */
  readonly good: () => SignedRequest
  /** Requests with wrong credentials of this kind: another secret, an unknown name, an altered signature. */
  readonly wrong: () => readonly SignedRequest[]
  /** Texts that no error and no principal may contain. */
  readonly secrets: readonly string[]
}

/** A request without credentials. */
export const plainRequest: SignedRequest = {
  api: 's3',
  method: 'GET',
  rawPath: '/bucket/key',
  rawQuery: '',
  headers: { host: 'storage.example.org' },
  host: 'storage.example.org',
  secure: true,
}

type Outcome = { readonly answer: AuthAnswer | undefined } | { readonly error: unknown }

async function ask(provider: AuthProvider, request: SignedRequest): Promise<Outcome> {
  try {
    return { answer: await provider.authenticate(request) }
  } catch (error) {
    return { error }
  }
}

const shown = (value: unknown): string => inspect(value, { depth: 10, showHidden: true })

/** At about 40 positions: one character altered, and everything after it cut off. */
function* mangled(text: string): Generator<string> {
  const step = Math.max(1, Math.ceil(text.length / 40))
  for (let at = 0; at < text.length; at += step) {
    yield text.slice(0, at)
    yield `${text.slice(0, at)}${text[at] === 'x' ? 'y' : 'x'}${text.slice(at + 1)}`
  }
}

export const authProviderContract: ContractSuite<AuthProviderSubject> = contractSuite('auth provider', {
  'good credentials give a principal that policies can name': async (t, { provider, good }) => {
    for (const request of [good(), good()]) {
      const answer = await provider.authenticate(request)
      t.match(answer?.identity, { accessKey: /^[!-~]/, ownerId: /^[0-9a-f]{64}$/, isRoot: Boolean })
      t.ok(['header', 'presigned', 'form', 'session'].includes(answer!.method))
      t.equal(answer!.payload === undefined, answer!.createDecoder === undefined, 'both or none')
    }
  },

  'wrong credentials give an error of the catalogue and no principal': async (t, { provider, wrong }) => {
    const requests = wrong()
    t.ok(requests.length > 0)
    for (const request of requests) {
      const outcome = await ask(provider, request)
      if ('error' in outcome) t.ok(isCatalogError(outcome.error) && outcome.error.status < 500, shown(outcome.error))
      else t.equal(outcome.answer, undefined)
    }
  },

  'requests without credentials, or with those of another kind, are left to other providers': (
    t,
    { provider, good },
  ) => {
    const { api } = good()
    const headers = (authorization: string) => ({ ...plainRequest.headers, authorization })
    for (const request of [
      plainRequest,
      { ...plainRequest, rawQuery: 'list-type=2&prefix=a' },
      { ...plainRequest, headers: headers('') },
      { ...plainRequest, headers: headers('X-Contract-Suite dXNlcjpwYXNzd29yZA==') },
    ]) {
      t.equal(provider.authenticate({ ...request, api }), undefined, shown(request))
    }
    t.equal(provider.authenticateForm?.(new Map([['key', 'a']])), undefined)
    t.equal(provider.authenticateDocument?.(plainRequest, { service: 'sts', document: Buffer.alloc(0) }), undefined)
    t.end()
  },

  'altered credentials never give another principal or a defect': async (t, { provider, good }) => {
    const request = good()
    const { identity } = (await provider.authenticate(request))!
    const check = async (altered: SignedRequest) => {
      const outcome = await ask(provider, altered)
      if ('error' in outcome) t.ok(isCatalogError(outcome.error), shown(outcome.error))
      else if (outcome.answer !== undefined) t.equal(outcome.answer.identity?.accessKey, identity!.accessKey)
    }
    const { rawQuery, headers } = request
    for (const name of ['authorization', 'cookie'] as const) {
      for (const text of mangled(headers[name] ?? ''))
        await check({ ...request, headers: { ...headers, [name]: text } })
    }
    for (const text of mangled(rawQuery)) await check({ ...request, rawQuery: text })
  },

  'no secret is in a principal or in an error': async (t, { provider, good, wrong, secrets }) => {
    t.ok(secrets.length > 0)
    for (const request of [good(), ...wrong()]) {
      const text = shown(await ask(provider, request))
      for (const secret of secrets) t.notOk(text.includes(secret))
    }
  },
})
