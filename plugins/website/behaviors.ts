/** Behaviors: finds the one of a path, and completes it with the fields of the default behavior. */
import {
  type Behavior,
  type Cors,
  compilePattern,
  type Distribution,
  type PathMatcher,
} from 'svc/plugins/distributions/api'
import { keyBytesMax } from 'svc/plugins/objects/api'
import { asHeaderValue } from 'svc/plugins/payload/api'
import { type CorsAnswers, compileCors } from './cors.ts'
import { type HeaderChange, headerChanges } from './response-headers.ts'

export interface ReadyBehavior {
  /** -1 for the default. */
  readonly index: number
  readonly access: 'public' | 'signed' | 'authenticated' | 'deny'
  /** The key group that verifies signed access. */
  readonly keyGroup: string | undefined
  readonly methods: ReadonlySet<string>
  /** The methods as the header `Allow` lists them. */
  readonly methodList: string
  readonly indexDocument: string | undefined
  /** A key below the prefix. */
  readonly spaFallback: string | undefined
  readonly cacheControl: string | undefined
  readonly headers: readonly HeaderChange[]
  readonly cors: CorsAnswers | undefined
}

/** Longer than the path of any key. */
const pathCharsMax = keyBytesMax + 1

const allMethods = ['GET', 'HEAD', 'OPTIONS'] as const

/** Returns the function that finds the behavior of a decoded path: the first that matches, otherwise the default. */
export function compileBehaviors({
  defaultBehavior,
  behaviors,
  headers,
}: Distribution): (path: string) => ReadyBehavior {
  const fallback = ready(-1, defaultBehavior, headers.cors)
  const ordered: readonly (readonly [PathMatcher, ReadyBehavior])[] = behaviors.map(
    ({ pathPattern, ...behavior }, index) => [
      compilePattern(pathPattern),
      ready(index, { ...defaultBehavior, ...behavior }, headers.cors),
    ],
  )
  return path => {
    // No object has a key of that length, so it is missing anyway, and patterns would cost more with its length.
    if (path.length > pathCharsMax) return fallback
    for (const [matches, behavior] of ordered) if (matches(path)) return behavior
    return fallback
  }
}

function ready(index: number, behavior: Behavior, cors: Cors | undefined): ReadyBehavior {
  const {
    access = 'public',
    allowedMethods = allMethods,
    indexDocument,
    spaFallback,
    cache,
    responseHeaders,
    signing,
  } = behavior
  const rules = behavior.cors ?? cors
  return {
    index,
    access,
    keyGroup: signing?.keyGroup,
    methods: new Set(allowedMethods),
    methodList: allowedMethods.join(', '),
    indexDocument: indexDocument === '' ? undefined : indexDocument,
    spaFallback: spaFallback === undefined || spaFallback === '' ? undefined : keyOf(spaFallback),
    cacheControl: cache?.cacheControl && asHeaderValue('cache-control', cache.cacheControl),
    headers: headerChanges(responseHeaders),
    cors: rules && compileCors(rules),
  }
}

/** Paths in documents may be written with their slash or without. */
export function keyOf(path: string): string {
  return path.startsWith('/') ? path.slice(1) : path
}
