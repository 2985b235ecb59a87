/**
 * The way of every request: authenticate, check origin and CSRF token, authorize, read parameters and body, `handle`, answer. In one place,
 * so that no handler can omit a step. Fastify routes, and validates the body, but does not read it: it skips bodies of GET and those
 * without a media type, although a signature covers them, too, and its limit would apply to the encoded body, which is longer with signed
 * chunks. It also validates parameters only after it has read the body, and has no good errors for repeated or badly encoded ones.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Logger, MaybePromise } from 'svc/kernel'
import type { ChecksumsService } from 'svc/plugins/checksums/api'
import { type RateLimitName, type RateLimitsService, refusalDetails } from 'svc/plugins/http/api'
import { changeOrigin } from 'svc/plugins/objects/api'
import { openPayload, type Payload } from 'svc/plugins/payload/api'
import { answer, answerBytes, answerProblem, basePath, splitTarget, watchForAbort } from './answer.ts'
import type { ActionTarget, AdminOperation, AdminRequest, EventSource, RequiredActions } from './api.ts'
import { changedNothing, note } from './audit-tags.ts'
import {
  type AuthenticationServices,
  authenticate,
  type Caller,
  createRenewal,
  requireOwnPage,
} from './authentication.ts'
import { mediaTypeOf, parseFormField, parseJson, parseText, readBody, requireMediaType } from './body.ts'
import { createDecision, type Decision, type DecisionServices } from './decision.ts'
import { adminErrors, checkField } from './errors.ts'
import type { EventStreams } from './event-stream.ts'
import { createGrants, type Grants, requireAgain } from './grants.ts'
import { methodsAt, requireShortSegments, routeUrl } from './paths.ts'
import type { Places } from './places.ts'
import { toAdminError } from './problem.ts'
import { createRepeats, isMadeOnce, type Repeated, readIdempotencyKey } from './repeats.ts'
import { AdminBytes, AdminReply } from './reply.ts'
import { createValidation, type Validation } from './validation.ts'

const bodyBytesMaxDefault = 1024 * 1024
/** The maximum of S3 in one request. */
const payloadBytesMax = 5 * 1024 ** 3
const formMediaType = 'application/x-www-form-urlencoded'

/** A host, a fragment or an empty segment: Fastify would route the rest, and treat the segment as an empty parameter. */
const nowhere = /^[^/]|#|\/(\/|$)/

/** Answers are data for one caller, never a page. */
const securityHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}

export interface DispatcherOptions extends AuthenticationServices, DecisionServices {
  readonly operations: readonly AdminOperation[]
  readonly streams: EventStreams
  readonly places: Places
  readonly checksums: ChecksumsService
  readonly normalizeKey: (key: string) => string
  /** Absent: there are no limits. */
  readonly rateLimits?: RateLimitsService
  /** Counts a request that a limit refused. */
  readonly countThrottled: (kind: string) => void
  readonly log: Logger
}

/** Each operation that can be tried has a parameter or a field of this name. */
const isDryRun = (given: unknown): boolean => (given as { readonly dryRun?: unknown } | undefined)?.dryRun === true

type Params = Readonly<Record<string, string>>

/** The state of a request when its body is validated. */
interface Admitted {
  readonly caller: Caller
  readonly may: Decision
  readonly query: object
  readonly texts: ReadonlyMap<string, string>
  readonly payload: Payload | undefined
}

declare module 'fastify' {
  interface FastifyRequest {
    admitted: Admitted | undefined
  }
}

/** Registers the routes of all operations, and the answers to all other requests. */
export function dispatchOperations(fastify: FastifyInstance, options: DispatcherOptions): void {
  const { operations, log } = options
  const repeats = createRepeats(options.clock)
  fastify.decorateRequest('admitted', undefined)
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser('*', (_request, _payload, next) => next(null))
  fastify.addHook('onRequest', begin)
  fastify.setErrorHandler(fail)
  // Requests with methods that Fastify does not know end here, too.
  fastify.setNotFoundHandler(refuse)
  // A route of another plugin may match every path: those below ours stay ours.
  fastify.all('/*', refuse)
  for (const operation of operations) fastify.route(routeOf(operation))

  function begin(request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void): void {
    watchForAbort(request)
    reply.headers(securityHeaders).header('x-request-id', request.exchange.requestId)
    const { path } = splitTarget(request)
    requireShortSegments(path)
    next(nowhere.test(path) ? adminErrors.not_found() : undefined)
  }

  async function refuse(request: FastifyRequest): Promise<never> {
    const { path } = splitTarget(request)
    if (path.startsWith(`${basePath}/`)) await spendToken('admin_ip', request.exchange.clientAddress)
    const allowed = methodsAt(operations, path)
    if (allowed.length === 0) throw adminErrors.not_found()
    throw adminErrors.method_not_allowed(undefined, { extra: { allow: allowed.join(', ') } })
  }

  function fail(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    // `http` has the messages for heads that Fastify refuses.
    if ((thrown as FastifyError).code?.startsWith('FST_')) throw thrown
    const { exchange, facts } = request
    const error = toAdminError(thrown, log, exchange.requestId, facts?.operation ?? '')
    const { throttled } = error.tags ?? {}
    if (throttled !== undefined) options.countThrottled(throttled)
    return answerProblem(request, reply, error, options.clock)
  }

  function routeOf(operation: AdminOperation): RouteOptions {
    const validation = createValidation(operation)
    return {
      method: operation.method,
      url: routeUrl(operation.path),
      exposeHeadRoute: false,
      ...(operation.body !== undefined && { schema: { body: operation.body } }),
      validatorCompiler: () => validation.body,
      preValidation: (request, reply) => admit(request, reply, operation, validation),
      handler: (request, reply) => serve(request, reply, operation).catch(error => fail(error, request, reply)),
    }
  }

  /** Throws `entity_too_large`, and errors for invalid headers about the payload. */
  function payloadOf({ bodyBytesMax = payloadBytesMax }: AdminOperation, request: FastifyRequest, caller: Caller) {
    const payload = openPayload(request.exchange, caller.signature, options.checksums)
    if ((payload.body.sizeBytes ?? 0) > bodyBytesMax) throw adminErrors.entity_too_large()
    return payload
  }

  async function spendToken(limit: RateLimitName, name: string): Promise<void> {
    const refusal = await options.rateLimits?.take(limit, name)
    if (refusal !== undefined) throw adminErrors.too_many_requests(undefined, refusalDetails(refusal))
  }

  async function admit(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: AdminOperation,
    validation: Validation,
  ): Promise<void> {
    const { exchange } = request
    const params = request.params as Params
    request.facts = { operation: operation.id, bucket: params.bucket ?? '' }
    request.exchange.operation = operation.id
    if (operation.isSafe === true) note(request, changedNothing)
    await spendToken('admin_ip', exchange.clientAddress)
    const caller = await authenticate(operation, exchange, options)
    request.identity = caller.identity
    // A page learns that somebody else has signed in since it was loaded.
    if (caller.session !== undefined) reply.header('x-session-id', caller.session.id)
    const { identity } = caller
    if (identity !== undefined) await spendToken('admin_user', identity.userName ?? identity.accessKey)
    requireOwnPage(operation, exchange, caller, options)
    const may = createDecision(options, exchange, caller, params.bucket)
    if (operation.authorizeRequest === undefined) await may.require(actionsOf(operation), { bucket: params.bucket })
    if (operation.plannedBy !== undefined) await operation.handle({} as AdminRequest)

    const { rawQuery } = splitTarget(request)
    validation.params(params)
    const { values: query, texts } = validation.query(rawQuery)
    may.query = texts
    if (texts.has('key')) request.facts = { ...request.facts, key: texts.get('key') }
    const payload = operation.bodyStream === true ? payloadOf(operation, request, caller) : undefined
    request.admitted = { caller, may, query, texts, payload }
    if (payload === undefined) request.body = await bodyOf(operation, request, caller)
    const { key } = (request.body ?? {}) as { readonly key?: unknown }
    if (typeof key === 'string' && params.bucket !== undefined) request.facts = { ...request.facts, key }
  }

  async function serve(request: FastifyRequest, reply: FastifyReply, operation: AdminOperation): Promise<FastifyReply> {
    const { exchange, body } = request
    const params = request.params as Params
    const { caller, may, query, texts, payload } = request.admitted as Admitted
    let actions = actionsOf(operation)
    let target: ActionTarget = { bucket: params.bucket }
    const change = changeOf(request, operation, caller)
    const grants = change === undefined ? undefined : createGrants(may)
    const isAllowed = grants?.isAllowed ?? may.isAllowed
    const asked: AdminRequest = {
      requestId: exchange.requestId,
      identity: caller.identity,
      session: caller.session,
      params,
      query,
      body,
      payload: payload as Payload,
      ifMatch: operation.etag === true ? unquote(exchange.request.headers['if-match']) : undefined,
      ifNoneMatch: operation.acceptsIfNoneMatch === true ? readIfNoneMatch(exchange.request.headers) : undefined,
      headers: exchange.request.headers,
      exchange,
      get origin() {
        return changeOrigin({
          identity: caller.identity,
          clientAddress: exchange.clientAddress,
          requestId: exchange.requestId,
          userAgent: exchange.request.headers['user-agent'],
        })
      },
      isAllowed,
      isItemAllowed(action, bucket, key, facts) {
        if (isAllowed(action, bucket, key, facts)) return true
        const tags = may.denialTags(action, bucket, key, facts)
        if (tags !== undefined) note(request, tags)
        return false
      },
      isAllowedInPart: may.isAllowedInPart,
      requireAllowed(action, bucket, key, facts) {
        if (!isAllowed(action, bucket, key, facts)) throw may.denied(action, { bucket, key, facts })
      },
      authorize: grants?.authorize ?? may.require,
      normalizeKey: options.normalizeKey,
      note: tags => note(request, tags),
    }
    if (isDryRun(query) || isDryRun(body)) note(request, changedNothing)
    if (operation.authorizeRequest !== undefined) {
      const { actions: needed, bucket = params.bucket, ...more } = operation.authorizeRequest(asked)
      if (bucket !== undefined) request.facts = { ...request.facts, bucket }
      actions = needed
      target = { bucket, isBucketNamed: true, ...more }
      await may.require(actions, target)
    }
    if (operation.events !== undefined) {
      const renew = await createRenewal(exchange, caller, options)
      const mayGoOn = async () => {
        const renewed = await renew()
        if (renewed === undefined) return false
        const mayNow = createDecision(options, exchange, renewed)
        mayNow.query = texts
        await mayNow.require(actions, target)
        return true
      }
      const source = inPlaceOf(operation, caller.identity, (await operation.handle(asked)) as EventSource)
      return stream(request, reply, caller, source, mayGoOn)
    }
    const work = () => (operation.isBulk === true ? inPlace(operation, asked) : operation.handle(asked))
    const result = change === undefined || grants === undefined ? await work() : await once(change, may, grants, work)
    if (payload !== undefined) request.facts = { ...request.facts, receivedBytes: payload.body.receivedBytes }
    if (result instanceof AdminBytes) return answerBytes(request, reply, result.options)
    return result instanceof AdminReply
      ? answer(request, reply, operation, result.body, result.options, params)
      : answer(request, reply, operation, result, {}, params)
  }

  /** What a request with an `Idempotency-Key` is known by; undefined where it is made each time that it is sent. */
  function changeOf(
    { exchange: { request }, body }: FastifyRequest,
    operation: AdminOperation,
    { identity, session }: Caller,
  ): Repeated | undefined {
    const key = readIdempotencyKey(request.headers['idempotency-key'])
    if (key === undefined || !isMadeOnce(operation) || identity === undefined) return undefined
    // Credentials that have been restricted meanwhile are others.
    const caller = `${session?.id ?? identity.accessKey} ${identity.isRestricted === true}`
    const conditions = [request.headers['if-match'], request.headers['if-none-match']]
    return { caller, method: operation.method, target: request.url ?? '', conditions, body, key }
  }

  /** Whoever gets the result of a former request has all rights that its handler asked for now as well. */
  async function once(change: Repeated, may: Decision, { granted }: Grants, work: () => MaybePromise<unknown>) {
    const made = await repeats.once(change, async () => ({ result: await work(), granted }))
    if (made.granted !== granted) await requireAgain(made.granted, may)
    return made.result
  }

  /** The place is given back when the work has ended and nobody gets its answer any more. */
  async function inPlace({ id, handle }: AdminOperation, asked: AdminRequest): Promise<unknown> {
    const { response } = asked.exchange
    const leave = options.places.take(id, asked.identity)
    let [isWorking, isClosed] = [true, response.destroyed]
    response.once('close', () => {
      isClosed = true
      if (!isWorking) leave()
    })
    try {
      return await handle(asked)
    } finally {
      isWorking = false
      if (isClosed) leave()
    }
  }

  /** Wraps the source, so that it occupies one of the operation's places while it is open. */
  function inPlaceOf({ id }: AdminOperation, identity: Caller['identity'], source: EventSource): EventSource {
    return {
      open(sink) {
        const leave = options.places.take(id, identity)
        try {
          const subscription = source.open(sink)
          return {
            get dropped() {
              return subscription.dropped
            },
            end() {
              leave()
              subscription.end()
            },
          }
        } catch (error) {
          leave()
          throw error
        }
      },
    }
  }

  function stream(
    request: FastifyRequest,
    reply: FastifyReply,
    caller: Caller,
    source: EventSource,
    mayGoOn: () => Promise<boolean>,
  ): FastifyReply {
    const { requestId, response } = request.exchange
    const opened = options.streams.open(response, { ...securityHeaders, 'x-request-id': requestId }, source, mayGoOn)
    reply.hijack()
    const forget = caller.session?.onEnd(opened.end)
    if (forget !== undefined) response.on('close', forget)
    return reply
  }
}

/** For a word instead of actions: every authenticated caller may call it, and later decisions have to be prepared, too. */
function actionsOf({ authorize }: AdminOperation): RequiredActions {
  return typeof authorize === 'string' ? [] : authorize
}

async function bodyOf(operation: AdminOperation, request: FastifyRequest, caller: Caller): Promise<unknown> {
  const raw = request.exchange.request
  const hasBody = raw.headers['transfer-encoding'] !== undefined || Number(raw.headers['content-length'] ?? 0) > 0
  const isWanted = operation.body !== undefined
  const { formField, contentTypes = ['application/json'] } = operation
  const isForm =
    formField !== undefined && raw.headers['content-type']?.toLowerCase().startsWith(formMediaType) === true
  if (isWanted && (hasBody || operation.bodyOptional !== true)) {
    requireMediaType(raw, formField === undefined ? contentTypes : [...contentTypes, formMediaType])
  }
  // Also read if the operation has no body: the signature must be verified, and the next request follows on the connection.
  const bytes = await readBody(raw, operation.bodyBytesMax ?? bodyBytesMaxDefault, caller.signature)
  if (!isWanted) return undefined
  if (bytes.length === 0 && operation.bodyOptional === true) return {}
  const isText = contentTypes.length > 1 && mediaTypeOf(raw) !== 'application/json' && !isForm
  // Of the body as a whole.
  return checkField('', () =>
    isText ? parseText(bytes) : parseJson(isForm ? parseFormField(bytes, formField) : bytes),
  )
}

function readIfNoneMatch({ 'if-none-match': header }: IncomingHttpHeaders): '*' | undefined {
  if (header === undefined) return undefined
  if (header.trim() === '*') return '*'
  throw adminErrors.invalid_argument('If-None-Match is * or absent here: what exists is not replaced.')
}

function unquote(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  return text.startsWith('"') && text.endsWith('"') && text.length >= 2 ? text.slice(1, -1) : text
}
