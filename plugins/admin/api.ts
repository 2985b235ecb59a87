/**
 * The JSON Admin API at `/api/v1` of the console listener. Operations are declared, one per file, and contributed to `admin.operation`. The
 * dispatcher routes, authenticates, checks origin and CSRF token, authorizes, reads and validates, calls `handle` and writes the answer.
 * OpenAPI, audit, trace and generated tests use the same declaration.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { MaybePromise, ObjectOf, ServiceName, Services } from 'svc/kernel'
import type { Exchange } from 'svc/plugins/http/api'
import type { ActiveSession, Identity } from 'svc/plugins/iam/api'
import type { ChangeOrigin } from 'svc/plugins/objects/api'
import type { Payload } from 'svc/plugins/payload/api'
import type { RequestFacts } from 'svc/plugins/policy/api'
import type { Static, TArray, TObject, TRecord, TSchema, TUnion, TUnsafe } from 'typebox'

export { authorizeChange, isAuthorized } from './authorized.ts'
export { commentOf } from './comment.ts'
export {
  adminErrors,
  checkField,
  type FieldProblem,
  invalidFields,
  passAll,
  problemsOf,
  sentenceEnd,
} from './errors.ts'
export { excessOf, type JsonBounds } from './json-bounds.ts'
export {
  attributeRequirements,
  headersOfFields,
  metadataFields,
  newObjectFields,
  type ObjectFields,
} from './object-fields.ts'
export { BucketParameters, ObjectKey, objectParameters, readObjectParameters, VersionId } from './object-parameters.ts'
export { decodeCursor, encodeCursor, pageOf, pageParameters, placeOf, readPlace } from './paging.ts'
export { placeIn } from './pointers.ts'
export { type AdminBytes, AdminReply, replyWith, replyWithBytes } from './reply.ts'
export { invalidRules, type RuleProblem, withProblems } from './rule-problems.ts'
export { StreamDropped } from './stream-schema.ts'
export { createValidation } from './validation.ts'

export type AdminMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Policy actions that the caller needs, all of them; of an inner array any one is enough. */
export type RequiredActions = readonly (string | readonly string[])[]

/**
 * The allowed callers. `public`: everybody, without authentication. `session`: callers with a console session; signed requests are refused.
 * `self`: every authenticated caller, for its own data. `service`: every authenticated caller; the handler decides for each object with
 * `isAllowed`.
 */
export type Authorization = 'public' | 'session' | 'self' | 'service' | RequiredActions

/** Facts for conditions of policies that are not in the head or the parameters of the request, or have another name there. */
export type ConditionFacts = Partial<
  Pick<
    RequestFacts,
    | 'copySource'
    | 'createsObject'
    | 'encryption'
    | 'headers'
    | 'legalHold'
    | 'prefix'
    | 'query'
    | 'requestTags'
    | 'retention'
    | 'versionId'
  >
>

/** The resource of required actions. */
export interface ActionTarget {
  readonly bucket?: string
  /** Whether the request itself names the bucket: only then a refusal does. Default: whether it is that of the path, or from `authorizeRequest`. */
  readonly isBucketNamed?: boolean
  readonly key?: string
  /** For conditions on the tags of the object, if the version is not that of the parameter `versionId`. */
  readonly versionId?: string
  readonly facts?: ConditionFacts
}

export interface AdminRequest<Params = object, Query = object, Body = unknown> {
  readonly requestId: string
  /** Undefined for a `public` operation, because the credentials were not verified. */
  readonly identity: Identity | undefined
  /** Undefined for signed requests. */
  readonly session: ActiveSession | undefined
  /** Percent-decoded. */
  readonly params: Params
  /** Converted to the types of the schema, defaults filled in. */
  readonly query: Query
  /** Without fields that are read-only, defaults filled in. */
  readonly body: Body
  /** The body of an operation that declares `bodyStream`. To be read after authorization. */
  readonly payload: Payload
  /** For operations with an ETag: the value of `If-Match`, without quotes; `*` matches any. */
  readonly ifMatch: string | undefined
  /** `*` for operations that accept `If-None-Match`: what exists is not to be replaced. */
  readonly ifNoneMatch: '*' | undefined
  readonly headers: IncomingHttpHeaders
  readonly exchange: Exchange
  /** The user, address and request, for every change of an object. */
  readonly origin: ChangeOrigin
  /** Whether the caller may do this to the server, to a bucket or to an object, under the conditions of this request. */
  isAllowed(action: string, bucket?: string, key?: string, facts?: ConditionFacts): boolean
  /** Like `isAllowed`, about one item of several: the audit record names the rule that denied the last one. */
  isItemAllowed(action: string, bucket: string, key: string, facts?: ConditionFacts): boolean
  /** Whether a listing of some part of the bucket is allowed, for a suitable prefix. */
  isAllowedInPart(action: string, bucket: string): boolean
  /** Like `isAllowed`; throws `access_denied`. */
  requireAllowed(action: string, bucket?: string, key?: string, facts?: ConditionFacts): void
  /**
   * For resources other than those of the path: fetches the facts that policies need, and throws `access_denied` unless all actions are
   * allowed. Afterwards `isAllowed` can be called for the same resource.
   */
  authorize(actions: RequiredActions, target: ActionTarget): MaybePromise<void>
  /** Normalizes a key, a prefix or a marker according to SVC_KEY_NORMALIZATION. */
  normalizeKey(key: string): string
  /** Adds tags to the audit record of this request. */
  note(tags: Readonly<Record<string, string>>): void
}

/** The sender's side of a stream of server-sent events. Bounded: events for a client that is too slow are dropped and counted. */
export interface EventSink {
  /** Sends one event, or drops and counts it. Never waits, never throws. */
  send(event: string, data: unknown): void
}

/** The result of the handler of a stream. `open` is called before the answer begins, so its errors can still be answered. */
export interface EventSource {
  /** Returns a function that ends the subscription; called once, when the client disconnects, its session ends or the server stops. */
  open(sink: EventSink): EventSubscription
}

export interface EventSubscription {
  /** Events that were lost before they reached the sink. */
  readonly dropped?: number
  end(): void
}

/** Like `ObjectOf`, for the other kinds of schemas of bodies; for `Static<Schema>` the compiler would compute all kinds. */
type ValueOf<Schema extends TSchema> = 0 extends 1 & Schema
  ? // biome-ignore lint/suspicious/noExplicitAny: the value of any schema is any
    any
  : Schema extends TObject<infer Properties>
    ? Static<TObject<Properties>>
    : Schema extends TRecord<infer Key, infer Value>
      ? Static<TRecord<Key, Value>>
      : Schema extends TArray<infer Item>
        ? Static<TArray<Item>>
        : Schema extends TUnion<infer Types>
          ? Static<TUnion<Types>>
          : Schema extends TUnsafe<infer Type>
            ? Type
            : unknown

export interface AdminOperationDeclaration<
  Params extends TObject = TObject,
  Query extends TObject = TObject,
  Body extends TSchema = TSchema,
  Response extends TSchema = TSchema,
> {
  /** The operationId of the catalogue. */
  readonly id: string
  readonly method: AdminMethod
  /** Relative to `/api/v1`, parameters in braces. */
  readonly path: string
  readonly tag: string
  /** One sentence, which others may follow. */
  readonly summary: string
  readonly authorize: Authorization
  /**
   * For operations whose query or body determines the required actions, bucket or object. Called after validation, and replaces
   * `authorize`, which then is only used for the document.
   */
  readonly authorizeRequest?: (
    request: AdminRequest<ObjectOf<Params>, ObjectOf<Query>, ValueOf<Body>>,
  ) => ActionTarget & { readonly actions: RequiredActions }
  /** Default: only the parameters in the path, each any text. */
  readonly params?: Params
  /** Each of type string, integer, boolean, an enumeration of strings, or an array of strings (repeated). Default: none. */
  readonly query?: Query
  /** Default: none; a body in the request is ignored. Fields with `readOnly: true` are ignored. */
  readonly body?: Body
  /** The body may have any type and is not read into memory: see `payload`. At most 5 GiB. */
  readonly bodyStream?: boolean
  /** Default 1 MiB. */
  readonly bodyBytesMax?: number
  /** The JSON may also be in this field of a form (`application/x-www-form-urlencoded`), for pages without a script. */
  readonly formField?: string
  /** The request may come without a body. */
  readonly bodyOptional?: boolean
  /** Media types of the body; default `application/json`. A body of another type is one text, also for the schema. */
  readonly contentTypes?: readonly string[]
  /** Default: none, and 204. */
  readonly response?: Response
  /**
   * Instead of `response`: the answer consists of bytes of this media type, `application/octet-stream` if the type varies. See
   * `replyWithBytes`.
   */
  readonly bytes?: string
  /** Instead of `response`: server-sent events by name, with the schema of their data. */
  readonly events?: Readonly<Record<string, TSchema>>
  /** For a POST that creates a resource: the answer is 201 with this `Location`, relative to `/api/v1`. */
  readonly location?: (response: ValueOf<Response>, params: ObjectOf<Params>) => string
  /** For a POST that starts work which continues after the answer: 202. */
  readonly isJob?: boolean
  /** Its work and its answer grow with the objects of a bucket: a user has only so many of them under way (`places.ts`). */
  readonly isBulk?: boolean
  /** It changes nothing, whatever its method: a validation, a simulation, a download. The audit record says so. */
  readonly isSafe?: boolean
  /** The answer has an `ETag` (its field `etag`), and changing operations accept `If-Match`. */
  readonly etag?: boolean
  /** With `etag`, for what may not exist: `If-None-Match: *` is accepted. */
  readonly acceptsIfNoneMatch?: boolean
  /**
   * The proof that a request with a session cookie comes from the console. Default: none for GET, otherwise `token` (the CSRF token and the
   * origin). `origin`: only the origin.
   */
  readonly crossSite?: 'token' | 'origin' | 'none'
  /** Error codes of this operation, in addition to those of all operations. */
  readonly errors?: readonly string[]
}

export type AdminResult<Response> =
  | Response
  | import('./reply.ts').AdminReply<Response>
  | import('./reply.ts').AdminBytes
  | EventSource
  | undefined
  | void

// biome-ignore lint/suspicious/noExplicitAny: what the dispatcher holds is of every operation
export interface AdminOperation extends AdminOperationDeclaration<any, any, any, any> {
  /** The plugin that will implement it. Set by the dispatcher only, for operations that no loaded plugin implements. */
  readonly plannedBy?: string
  // biome-ignore lint/suspicious/noExplicitAny: see above
  handle(request: AdminRequest<any, any, any>): MaybePromise<AdminResult<unknown>>
}

/** An operation that a plugin lists in `contributes`: it gets its services when the plugin is set up. */
export interface AdminOperationDefinition<
  Params extends TObject,
  Query extends TObject,
  Body extends TSchema,
  Response extends TSchema,
  Uses extends ServiceName,
> extends AdminOperationDeclaration<Params, Query, Body, Response> {
  /** Services that `handle` needs. */
  readonly uses?: readonly Uses[]
  handle(
    request: AdminRequest<ObjectOf<Params>, ObjectOf<Query>, ValueOf<Body>>,
    services: Pick<Services, Uses>,
  ): MaybePromise<AdminResult<ValueOf<Response>>>
}

export function defineAdminOperation<
  Params extends TObject = TObject,
  Query extends TObject = TObject,
  Body extends TSchema = TSchema,
  Response extends TSchema = TSchema,
  const Uses extends ServiceName = never,
>(
  definition: AdminOperationDefinition<Params, Query, Body, Response, Uses>,
): AdminOperationDefinition<Params, Query, Body, Response, Uses> {
  return Object.freeze(definition)
}

declare module 'svc/kernel' {
  interface Listed<Uses extends ServiceName> {
    // biome-ignore lint/suspicious/noExplicitAny: an operation of any shape
    'admin.operation': AdminOperationDefinition<any, any, any, any, Uses>
  }
  interface ExtensionPoints {
    'admin.operation': AdminOperation
  }
}
