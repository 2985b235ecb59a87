/**
 * The JSON Admin API at `/api/v1` of the console listener. Operations are declared, one per file, and contributed to
 * `admin.operation`. The dispatcher routes, authenticates, checks origin and CSRF token, authorizes, reads and validates,
 * calls `handle` and writes the answer; OpenAPI, audit, trace and generated tests come from the same declaration.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { MaybePromise, ObjectOf, ServiceName, Services } from 'svc/kernel'
import type { Exchange } from 'svc/plugins/http/api'
import type { ActiveSession, Identity } from 'svc/plugins/iam/api'
import type { ChangeOrigin } from 'svc/plugins/objects/api'
import type { Payload } from 'svc/plugins/payload/api'
import type { RequestFacts } from 'svc/plugins/policy/api'
import type { Static, TArray, TObject, TRecord, TSchema, TUnion, TUnsafe } from 'typebox'

export { adminErrors, type FieldProblem, invalidFields, sentenceEnd } from './errors.ts'
export {
  attributeRequirements,
  headersOfFields,
  metadataFields,
  newObjectFields,
  type ObjectFields,
} from './object-fields.ts'
export { BucketParameters, ObjectKey, objectParameters, readObjectParameters, VersionId } from './object-parameters.ts'
export { decodeCursor, encodeCursor, pageOf, pageParameters } from './paging.ts'
export { type AdminBytes, AdminReply, replyWith, replyWithBytes } from './reply.ts'
export { invalidRules, type RuleProblem, withProblems } from './rule-problems.ts'
export { StreamDropped } from './stream-schema.ts'

export type AdminMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Policy actions, all of them needed; of an inner array any is enough. */
export type RequiredActions = readonly (string | readonly string[])[]

/**
 * Who may. `public`: everybody, without authentication. `session`: whoever has a console session; signed requests are
 * refused. `self`: every authenticated caller, about what is its own. `service`: every authenticated caller; the handler
 * decides object by object with `isAllowed`.
 */
export type Authorization = 'public' | 'session' | 'self' | 'service' | RequiredActions

/** What conditions of policies ask for, where it is not in the head and the parameters of the request, or there by another name. */
export type ConditionFacts = Partial<
  Pick<
    RequestFacts,
    | 'copySource'
    | 'createsObject'
    | 'headers'
    | 'legalHold'
    | 'prefix'
    | 'query'
    | 'requestTags'
    | 'retention'
    | 'versionId'
  >
>

/** What actions are needed on. */
export interface ActionTarget {
  readonly bucket?: string
  readonly key?: string
  /** For conditions on the tags that the object has, where it is not the parameter `versionId`. */
  readonly versionId?: string
  readonly facts?: ConditionFacts
}

export interface AdminRequest<Params = object, Query = object, Body = unknown> {
  readonly requestId: string
  /** Of an operation that is `public`: whose credentials nobody has looked at. */
  readonly identity: Identity | undefined
  /** Undefined for signed requests. */
  readonly session: ActiveSession | undefined
  /** Percent-decoded. */
  readonly params: Params
  /** Converted to the types of the schema, defaults filled in. */
  readonly query: Query
  /** Without fields that are read-only, defaults filled in. */
  readonly body: Body
  /** Where the declaration says `bodyStream`, and only there. Read by who is authorized. */
  readonly payload: Payload
  /** Where the operation has an ETag: what `If-Match` names, without quotes; `*` is any. */
  readonly ifMatch: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly exchange: Exchange
  /** Who asks, and from where: for every change of an object. */
  readonly origin: ChangeOrigin
  /** Whether the caller may do this to the server, to a bucket or to an object, under the conditions of this request. */
  isAllowed(action: string, bucket?: string, key?: string, facts?: ConditionFacts): boolean
  /** Whether a listing of some part of the bucket is allowed, whatever conditions say of its prefix. */
  isAllowedInPart(action: string, bucket: string): boolean
  /** As `isAllowed`; throws `access_denied`. */
  requireAllowed(action: string, bucket?: string, key?: string, facts?: ConditionFacts): void
  /**
   * For what the request touches beside its own bucket and object: fetches what policies want to know, and throws `access_denied`
   * unless every action is allowed. Afterwards `isAllowed` can be asked about the same.
   */
  authorize(actions: RequiredActions, target: ActionTarget): MaybePromise<void>
  /** Brings a key, a prefix or a marker into the form of SVC_KEY_NORMALIZATION. */
  normalizeKey(key: string): string
}

/** The sender's end of a stream of server-sent events. Bounded: what a slow client does not take is counted, not kept. */
export interface EventSink {
  /** Sends one event, or drops and counts it. Never waits, never throws. */
  send(event: string, data: unknown): void
}

/** What the handler of a stream returns. `open` is called before the answer begins, so what it throws is still an answer. */
export interface EventSource {
  /** Returns what ends it; called once, when the client, its session or the server goes. */
  open(sink: EventSink): EventSubscription
}

export interface EventSubscription {
  /** Events that were lost before they came to the sink. */
  readonly dropped?: number
  end(): void
}

/** As `ObjectOf`, for the other kinds of schemas that bodies have; the compiler works out all kinds for `Static<Schema>`. */
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
  /** One sentence, perhaps with others behind it. */
  readonly summary: string
  readonly authorize: Authorization
  /**
   * Where query or body decide which actions are needed, and on which bucket or object: asked after validation, instead of
   * `authorize`, which then only says what is in the document.
   */
  readonly authorizeRequest?: (
    request: AdminRequest<ObjectOf<Params>, ObjectOf<Query>, ValueOf<Body>>,
  ) => ActionTarget & { readonly actions: RequiredActions }
  /** Default: none but those in the path, each any text. */
  readonly params?: Params
  /** Each of type string, integer, boolean, an enumeration of strings, or an array of strings (repeated). Default: none. */
  readonly query?: Query
  /** Default: none; a body that comes nevertheless is ignored. Fields with `readOnly: true` are ignored. */
  readonly body?: Body
  /** The body is taken as it comes, of whatever type, and not into memory: `payload`. At most 5 GiB. */
  readonly bodyStream?: boolean
  /** Default 1 MiB. */
  readonly bodyBytesMax?: number
  /** The JSON may also come in this field of a form (`application/x-www-form-urlencoded`), as a page sends it without a script. */
  readonly formField?: string
  /** The request may come without a body. */
  readonly bodyOptional?: boolean
  /** Media types of the body; default `application/json`. What comes as another of them is one text, for the schema too. */
  readonly contentTypes?: readonly string[]
  /** Default: none, and 204. */
  readonly response?: Response
  /** Instead of `response`: the answer is bytes of this media type, `application/octet-stream` where each has its own. See `replyWithBytes`. */
  readonly bytes?: string
  /** Instead of `response`: server-sent events by name, with the schema of their data. */
  readonly events?: Readonly<Record<string, TSchema>>
  /** POST that creates answers 201 with this as `Location`, relative to `/api/v1`. */
  readonly location?: (response: ValueOf<Response>, params: ObjectOf<Params>) => string
  /** POST that starts something which goes on after the answer: 202. */
  readonly isJob?: boolean
  /** The answer carries `ETag` (its field `etag`), and what changes it takes `If-Match`. */
  readonly etag?: boolean
  /**
   * What a request of a session has to show beside its cookie. Default: nothing for GET, otherwise `token` (the CSRF token,
   * and that it comes from the console). `origin`: only the latter.
   */
  readonly crossSite?: 'token' | 'origin' | 'none'
  /** Codes beside those of every operation. */
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
  /** The plugin that will serve it. Set by the dispatcher alone, for what no loaded plugin serves. */
  readonly plannedBy?: string
  // biome-ignore lint/suspicious/noExplicitAny: see above
  handle(request: AdminRequest<any, any, any>): MaybePromise<AdminResult<unknown>>
}

/** An operation that a plugin lists in `contributes`: its services are given when the plugin is set up. */
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
