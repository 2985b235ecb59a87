/** The problems of a website's document. */
import { type Behavior, type Distribution, type DistributionProblem, unverifiable } from 'svc/plugins/distributions/api'
import { redirectProblems } from './redirects.ts'
import { headerProblem } from './response-headers.ts'

export function websiteProblems(distribution: Distribution): readonly DistributionProblem[] {
  const problems: DistributionProblem[] = []
  const add = (element: string, message: string | undefined) => {
    if (message !== undefined) problems.push({ element, message })
  }
  const { aliases, defaultBehavior, behaviors, errorPages, redirects, headers } = distribution
  checkBehavior('/defaultBehavior', defaultBehavior, add)
  for (const [index, behavior] of behaviors.entries()) checkBehavior(`/behaviors/${index}`, behavior, add)
  for (const element of unverifiable(distribution)) {
    add(`${element}/signing/keyGroup`, 'is missing: signed access is verified with the keys of a key group')
  }
  for (const [index, { path }] of errorPages.entries()) add(`/errorPages/${index}/path`, keyProblem(path))
  for (const [index, redirect] of redirects.entries()) {
    for (const { element, message } of redirectProblems(redirect, aliases))
      add(`/redirects/${index}${element}`, message)
  }
  checkHeaders('/headers/response', headers.response, add)
  checkCors('/headers/cors', headers.cors, add)
  return problems
}

type Add = (element: string, message: string | undefined) => void

function checkBehavior(element: string, behavior: Behavior, add: Add): void {
  const { indexDocument = '', spaFallback = '', cache, responseHeaders, cors } = behavior
  if (indexDocument.includes('/')) add(`${element}/indexDocument`, 'is a name in each folder: it has no slash')
  add(`${element}/indexDocument`, keyProblem(indexDocument))
  add(`${element}/spaFallback`, keyProblem(spaFallback))
  if (cache?.cacheControl !== undefined) {
    const isAscii = /^[\t\x20-\x7e]*$/.test(cache.cacheControl)
    add(
      `${element}/cache/cacheControl`,
      isAscii ? headerProblem('cache-control', cache.cacheControl) : 'has a character that no Cache-Control has',
    )
  }
  checkHeaders(`${element}/responseHeaders`, responseHeaders, add)
  checkCors(`${element}/cors`, cors, add)
}

function keyProblem(path: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no path of a request has them
  if (/[\u0000-\u001f\u007f\\]/.test(path)) return 'has a control character or a backslash'
  return path.split('/').some(segment => segment === '.' || segment === '..') ? 'has a dot segment' : undefined
}

function checkHeaders(element: string, headers: Readonly<Record<string, string>> | undefined, add: Add): void {
  for (const [name, value] of Object.entries(headers ?? {})) {
    add(`${element}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, headerProblem(name, value))
  }
}

const origin = /^https?:\/\/[a-z0-9.-]+(:\d{1,5})?$/
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

function checkCors(element: string, cors: Behavior['cors'], add: Add): void {
  if (cors === undefined) return
  const { allowedOrigins, allowedHeaders = [], exposeHeaders = [], allowCredentials } = cors
  if (allowedOrigins.includes('*')) {
    if (allowedOrigins.length > 1) add(`${element}/allowedOrigins`, 'has * beside others')
    if (allowCredentials) add(`${element}/allowCredentials`, 'cannot be with every origin')
  } else if (!allowedOrigins.every(one => origin.test(one))) {
    add(`${element}/allowedOrigins`, 'has an entry that is no origin, such as https://app.example.org, in lower case')
  }
  if (![...allowedHeaders, ...exposeHeaders].every(name => token.test(name))) {
    add(element, 'has a header that is none')
  }
}
