/** Requests to the Admin API. The CSRF token lives in this module's memory and nowhere else. */
import { routes } from 'virtual:operations'
import type { Answer, OperationId, Request } from './operations.ts'
import { type Problem, problemOf, problemOfNetwork, problemOfOtherUser } from './problem.ts'

/** The session of this page; empty for none. */
let current = { id: '', csrfToken: '' }
let onSessionEnd = (): void => {}
let onOtherSession = async (): Promise<boolean> => false

export function setSession(session: { readonly id: string; readonly csrfToken: string } | undefined): void {
  current = session === undefined ? { id: '', csrfToken: '' } : { id: session.id, csrfToken: session.csrfToken }
}

/** The session is over, and its page stays until somebody signs in: answers for another session are still none for this page. */
export function endSession(): void {
  current = { ...current, csrfToken: '' }
}

export const isOtherSession = (id: string | null): boolean => id !== null && current.id !== '' && id !== current.id

/** Called when a request is answered that there is no session any more. */
export function whenSessionEnds(listener: () => void): void {
  onSessionEnd = listener
}

/** Called when the browser has another session than this page. Resolves with true where it is the same user's, and is this page's now. */
export function whenSessionIsOther(listener: () => Promise<boolean>): void {
  onOtherSession = listener
}

/** For an answer that names its session. */
export async function adoptSessionOf(id: string | null): Promise<boolean> {
  return !isOtherSession(id) || (await onOtherSession())
}

export function csrfHeaders(): Record<string, string> {
  return current.csrfToken === '' ? {} : { 'x-csrf-token': current.csrfToken }
}

/** Removes empty fields: an empty filter of a page filters nothing. */
export function withoutEmpty<Query extends object>(query: Query): Partial<Query> {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== '')) as Partial<Query>
}

/** The address of an operation, relative to the page's base. Throws where the server has no such operation. */
export function urlOf(
  id: OperationId | (string & {}),
  params: Readonly<Record<string, string>> = {},
  query: object = {},
): string {
  const route = routes[id]
  if (route === undefined) throw new Error(`no operation ${id}`)
  const path = route[1].replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined) search.append(name, String(each))
    }
  }
  return `api/v1${path}${search.size > 0 ? `?${search}` : ''}`
}

/** Calls an operation; throws `Problem`. */
export async function call<Id extends OperationId>(id: Id, request: Request<Id> = {}): Promise<Answer<Id>> {
  return answerOf(await answered(id, request))
}

/** A line that is dead without having been closed tells nothing: after so long without an answer the server counts as unreachable. */
const silenceMs = 60_000

/** What reads is answered soon, however long the rest of the answer takes. Changes may take their time, unless they are quick. */
async function answered<Id extends OperationId>(id: Id, request: Request<Id>): Promise<Response> {
  if (routes[id]![0] !== 'GET' && request.isQuick !== true) return exchange(id, request)
  const { signal } = request
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(), silenceMs)
  try {
    return await exchange(id, {
      ...request,
      signal: signal ? AbortSignal.any([signal, silence.signal]) : silence.signal,
    })
  } catch (error) {
    if (silence.signal.aborted && signal?.aborted !== true) throw problemOfNetwork('silent')
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** A document as it was read, with the ETag that a change of it has to name. */
export interface Tagged<Document> {
  readonly document: Document
  readonly etag: string | undefined
}

/** The condition that nobody has changed it since it was read. */
export const asRead = (etag: string | undefined): { readonly ifMatch?: string } =>
  etag === undefined ? {} : { ifMatch: etag }

/** Like `call`, for operations whose ETag is not in the document. */
export async function callTagged<Id extends OperationId>(
  id: Id,
  request: Request<Id> = {},
): Promise<Tagged<Answer<Id>>> {
  const response = await answered(id, request)
  const etag = response.headers.get('etag')?.replace(/^(?:W\/)?"|"$/g, '')
  return { document: await answerOf(response), etag }
}

async function answerOf<Id extends OperationId>(response: Response): Promise<Answer<Id>> {
  return (response.status === 204 ? undefined : await response.json()) as Answer<Id>
}

/** Operations that find out whether there is a session. */
const beforeSession: ReadonlySet<string> = new Set(['login', 'getSession', 'getPermissions'])

/** Sends a request whose answer is no JSON. */
export async function exchange<Id extends OperationId>(id: Id, request: Request<Id> = {}): Promise<Response> {
  const [method] = routes[id]!
  // What a caller may do in one bucket is data of the page.
  const isBefore = beforeSession.has(id) && request.query === undefined
  const { params, query = {}, body, raw, ifMatch, ifNoneMatch, signal } = request
  // With the token of a session that is over the server would not tell of the present one.
  const token = isBefore ? {} : csrfHeaders()
  const headers: Record<string, string> = { accept: 'application/json', ...token, ...request.headers }
  if (body !== undefined) headers['content-type'] = 'application/json'
  if (raw !== undefined) headers['content-type'] = raw.type
  if (ifMatch !== undefined) headers['if-match'] = `"${ifMatch}"`
  if (ifNoneMatch !== undefined) headers['if-none-match'] = ifNoneMatch
  // A browser sends a request again where the connection ends without an answer: the change is to be made once.
  if (method !== 'GET') headers[idempotencyKey] ??= newKey()
  const sender = current.id
  let response: Response
  try {
    response = await fetch(urlOf(id, params, query), {
      method,
      headers,
      credentials: 'same-origin',
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(raw !== undefined && { body: raw }),
      ...(signal && { signal }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw problemOfNetwork()
  }
  const answered = response.headers.get('x-session-id')
  if (!isBefore && isOtherSession(answered)) {
    if (!(await adoptSessionOf(answered))) throw problemOfOtherUser()
    // The token was that of the session before.
    if (response.status === 403) return exchange(id, request)
  }
  if (!response.ok) {
    const problem = await problemOf(response)
    // A late answer tells nothing of a session that has begun meanwhile.
    if (!isBefore && sender === current.id) endSessionAfter(problem)
    throw problem
  }
  return response
}

export const idempotencyKey = 'idempotency-key'

/** Also where a page without TLS has no `randomUUID`. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), part => part.toString(36)).join('-')

/** Another page of this console has ended the session. */
export function noticeSessionEnd(): void {
  if (current.id !== '') onSessionEnd()
}

/** Ends the session if the server no longer knows who sent the request. */
export function endSessionAfter({ status }: Problem): void {
  if (status === 401) onSessionEnd()
}
