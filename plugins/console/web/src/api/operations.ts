/** The operations of the Admin API that the console calls, with their types: the API's own declarations, never written twice. */
import type { Static, TObject, TSchema } from 'typebox'
import type { AdminOperationDeclaration } from '../../../../admin/api.ts'
import type { AccessOperations } from './operations/access.ts'
import type { BucketOperations } from './operations/buckets.ts'
import type { ObjectOperations } from './operations/objects.ts'
import type { PublishingOperations } from './operations/publishing.ts'
import type { ServerOperations } from './operations/server.ts'

interface Declarations
  extends AccessOperations,
    BucketOperations,
    ObjectOperations,
    PublishingOperations,
    ServerOperations {}

export type OperationId = keyof Declarations

type Parts<Id extends OperationId> =
  Declarations[Id] extends AdminOperationDeclaration<infer Params, infer Query, infer Body, infer Response>
    ? { params: Params; query: Query; body: Body; response: Response }
    : never

type ValueOf<Schema> = Schema extends TSchema ? Static<Schema> : never
/** Defaults are the server's to fill in. */
type Given<Schema> = Schema extends TObject ? Partial<Static<Schema>> : ValueOf<Schema>

/** The answer of the operation. */
export type Answer<Id extends OperationId> = ValueOf<Parts<Id>['response']>

export interface Request<Id extends OperationId> {
  /** Parameters of the path. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Given<Parts<Id>['query']>
  readonly body?: Given<Parts<Id>['body']>
  /** Instead of a body of JSON: bytes with their type. */
  readonly raw?: Blob
  /** The ETag of what is changed: the change fails where somebody else has been quicker. */
  readonly ifMatch?: string
  /** What is made: it fails where somebody else has been quicker. */
  readonly ifNoneMatch?: '*'
  /** A change that is made at once, however much there is: an answer that does not come is a line that is dead. */
  readonly isQuick?: boolean
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export type Bucket = Answer<'listBuckets'>['items'][number]
export type ListedObject = Answer<'listObjects'>['objects'][number]
export type ListedVersion = Answer<'listObjectVersions'>['items'][number]
export type ObjectDetails = Answer<'statObject'>
export type Session = Answer<'getSession'>
