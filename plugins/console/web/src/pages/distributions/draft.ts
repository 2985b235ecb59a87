/** A distribution while it is edited: the document with every field that a form shows, so that pointers of the server's errors fit. */
import type { Answer } from '../../api/operations.ts'
import { objectOf, type Pair, pairsOf } from '../../parts/pairs.ts'
import { typedFolder, typedPrefix } from '../../parts/typed-folder.ts'

export type Distribution = Answer<'getDistribution'>
type Document = Omit<
  Distribution,
  'createdAt' | 'updatedAt' | 'etag' | 'warnings' | 'blocked' | 'logEnded' | 'served' | 'shadowed'
>
type Cors = NonNullable<Document['headers']['cors']>

export type Behavior = Omit<
  Document['defaultBehavior'],
  'access' | 'indexDocument' | 'spaFallback' | 'responseHeaders' | 'cache' | 'signing' | 'cors'
> & {
  readonly pathPattern?: {
    readonly type: 'prefix' | 'glob' | 'regex'
    readonly pattern: string
    readonly caseInsensitive?: boolean
  }
  /** Empty: that of the default behaviour. */
  readonly access: NonNullable<Document['defaultBehavior']['access']> | ''
  /** Null, also of those below: that of the default behaviour. Empty: none, whatever the default says. */
  readonly indexDocument: string | null
  readonly spaFallback: string | null
  readonly cache: { readonly cacheControl: string | null }
  readonly responseHeaders: readonly Pair[] | null
  readonly signing: { readonly keyGroup: string }
  readonly cors: Cors
}

export interface Draft
  extends Omit<
    Document,
    'defaultBehavior' | 'behaviors' | 'errorPages' | 'redirects' | 'headers' | 'tls' | 'logging' | 'restrictions'
  > {
  readonly defaultBehavior: Behavior
  readonly behaviors: readonly Behavior[]
  readonly errorPages: readonly {
    readonly status: number
    readonly path: string
    readonly responseStatus: number | ''
  }[]
  readonly redirects: readonly {
    readonly from: string
    readonly to: string
    readonly hostFrom: string
    readonly toHost: string
    readonly httpsOnly: boolean
    readonly status: string
  }[]
  readonly headers: { readonly preset: string; readonly response: readonly Pair[]; readonly cors: Cors }
  readonly tls: { readonly certificate: string; readonly challenge: string; readonly dnsProvider: string }
  readonly logging: { readonly accessLog: boolean; readonly format: string; readonly target: string }
  readonly restrictions: {
    readonly sourceIp: { readonly allow: readonly string[]; readonly deny: readonly string[] }
    readonly originSecretHeader: { readonly name: string; readonly value?: string; readonly values?: readonly string[] }
    readonly rateLimit: { readonly requestsPerSecond: number | ''; readonly burst: number | ''; readonly per: string }
  }
}

export function behaviorOf(given: Document['defaultBehavior'] | Document['behaviors'][number] = {}): Behavior {
  const { cache, responseHeaders } = given
  return {
    ...given,
    access: given.access ?? '',
    indexDocument: given.indexDocument ?? null,
    spaFallback: given.spaFallback ?? null,
    cache: { cacheControl: cache === undefined ? null : (cache.cacheControl ?? '') },
    signing: { keyGroup: '', ...given.signing },
    responseHeaders: responseHeaders === undefined ? null : pairsOf(responseHeaders),
    cors: corsOf(given.cors),
  }
}

/** What says nothing is public, and has none of the others: there is nothing that it would be inherited from. */
const nothingSaid = { access: 'public', indexDocument: '', spaFallback: '', cache: {}, responseHeaders: {} } as const

function corsOf(given: Cors | undefined): Cors {
  return { allowedOrigins: [], ...given }
}

export function draftOf(distribution: Distribution): Draft {
  const {
    createdAt: _,
    updatedAt: __,
    etag: ___,
    warnings: ____,
    blocked: _____,
    logEnded: ______,
    served: _______,
    shadowed: ________,
    ...given
  } = distribution
  const { headers, restrictions } = given
  return {
    ...given,
    defaultBehavior: behaviorOf({ ...nothingSaid, ...given.defaultBehavior }),
    behaviors: given.behaviors.map(behaviorOf),
    errorPages: given.errorPages.map(page => ({ ...page, responseStatus: page.responseStatus ?? '' })),
    redirects: given.redirects.map(redirect => ({
      from: '',
      to: '',
      hostFrom: '',
      toHost: '',
      httpsOnly: false,
      ...redirect,
      status: String(redirect.status ?? ''),
    })),
    headers: { preset: headers.preset ?? '', response: pairsOf(headers.response), cors: corsOf(headers.cors) },
    tls: { challenge: '', dnsProvider: '', ...given.tls },
    logging: { accessLog: false, format: '', target: '', ...given.logging },
    restrictions: {
      sourceIp: { allow: [], deny: [], ...restrictions.sourceIp },
      originSecretHeader: { name: '', ...restrictions.originSecretHeader },
      rateLimit: { requestsPerSecond: '', burst: '', per: '', ...restrictions.rateLimit },
    },
  }
}

/** As keys are written. What ends with slashes is a folder already, and may be meant so. */
export const pathPrefixOf = ({ origin: { pathPrefix } }: Pick<Draft, 'origin'>): string =>
  pathPrefix.endsWith('/') ? typedPrefix(pathPrefix) : typedFolder(pathPrefix)

/**
 * The document of the draft without empty fields, for which the server's defaults apply; of a behaviour without those that are inherited from the
 * default behaviour.
 */
export function documentOf(draft: Draft): Document {
  // That of the default is the one of each signed behavior that names none.
  const isInherited = draft.behaviors.some(({ access, signing }) => access === 'signed' && signing.keyGroup === '')
  const behaviorBody = ({ responseHeaders: pairs, ...behavior }: Behavior, path: string, keepsSigning = false) => {
    const responseHeaders = objectOf(pairs ?? [], `${path}/responseHeaders`)
    return {
      // The key group of who does not need one any more is not shown.
      ...(pruned(
        isOpenOrShut.has(behavior.access) && !keepsSigning ? { ...behavior, signing: undefined } : behavior,
      ) as object),
      ...(!isEmpty(responseHeaders) && { responseHeaders }),
    }
  }
  const overridingBody = (behavior: Behavior, path: string) => ({
    ...behaviorBody(behavior, path),
    ...nonesOf(behavior),
  })
  const { rateLimit, sourceIp, originSecretHeader } = draft.restrictions
  const { response, ...headers } = draft.headers
  return {
    ...draft,
    origin: { ...draft.origin, pathPrefix: pathPrefixOf(draft) },
    defaultBehavior: behaviorBody(draft.defaultBehavior, '/defaultBehavior', isInherited),
    behaviors: draft.behaviors.map((behavior, index) => overridingBody(behavior, `/behaviors/${index}`)),
    errorPages: draft.errorPages.map(pruned),
    redirects: draft.redirects.map(({ status, ...redirect }) => ({
      ...(pruned(redirect) as object),
      ...(status !== '' && { status: Number(status) }),
    })),
    headers: {
      ...(pruned(headers) as object),
      ...(response.length > 0 && { response: objectOf(response, '/headers/response') }),
    },
    tls: pruned(draft.tls),
    logging: pruned(draft.logging),
    restrictions: pruned({
      sourceIp,
      ...(originSecretHeader.name !== '' && { originSecretHeader: secretBody(originSecretHeader) }),
      // A burst without a rate is the server's to refuse; by whom it counts limits nothing.
      ...((rateLimit.requestsPerSecond !== '' || rateLimit.burst !== '') && { rateLimit }),
    }),
  } as Document
}

/** A value that is typed replaces those that are stored, which are masked here. */
const secretBody = ({ name, value = '', values }: Draft['restrictions']['originSecretHeader']) =>
  value === '' ? { name, values } : { name, value }

const isOpenOrShut: ReadonlySet<string> = new Set(['public', 'deny'])

/** What the behaviour has none of, although the default may have one. */
const nonesOf = ({ indexDocument, spaFallback, cache, responseHeaders }: Behavior): Document['defaultBehavior'] => ({
  ...(indexDocument === '' && { indexDocument }),
  ...(spaFallback === '' && { spaFallback }),
  ...(cache.cacheControl === '' && { cache: { cacheControl: '' } }),
  ...(responseHeaders?.length === 0 && { responseHeaders: {} }),
})

/** Leaves out empty texts, lists and objects, also within. */
function pruned(value: unknown): unknown {
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
    .map(([name, each]) => [name, pruned(each)] as const)
    .filter(([, each]) => !isEmpty(each))
  return Object.fromEntries(entries)
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}
