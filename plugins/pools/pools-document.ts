/** The pools document: what each set stores about the storage that it belongs to, under `sharedSetKey`. JSON. */
import { storageErrors } from 'svc/plugins/storage/api'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'

const SetId = Type.String({ pattern: '^[0-9a-f]{32}$' })

/** Version of new documents. Version 1: the remote references of the storage have no groups. */
export const recordsVersion = 2

/** The document of the record set. It lists all sets by number, itself first. Sets are only ever added. */
export const RecordsDocument = Type.Object(
  {
    version: Type.Union([Type.Literal(1), Type.Literal(recordsVersion)]),
    role: Type.Literal('records'),
    sets: Type.Array(
      Type.Object(
        { setId: SetId, pool: Type.Integer({ minimum: 0 }), drives: Type.Integer({ minimum: 2, maximum: 16 }) },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: 32 },
    ),
  },
  { additionalProperties: false },
)
export type RecordsDocument = Static<typeof RecordsDocument>
export type ListedSet = RecordsDocument['sets'][number]

/** The document of a blob set. */
export const BlobsDocument = Type.Object(
  {
    version: Type.Literal(1),
    role: Type.Literal('blobs'),
    /** Id of the record set. */
    recordsIn: SetId,
  },
  { additionalProperties: false },
)
export type BlobsDocument = Static<typeof BlobsDocument>

export type PoolsDocument = RecordsDocument | BlobsDocument

const PoolsDocument = Type.Union([RecordsDocument, BlobsDocument])

export function encodePoolsDocument(document: PoolsDocument): Buffer {
  return Buffer.from(JSON.stringify(document))
}

/** Throws `corrupt`. */
export function decodePoolsDocument(bytes: Uint8Array): PoolsDocument {
  let document: unknown
  try {
    document = JSON.parse(Buffer.from(bytes).toString())
  } catch (error) {
    throw storageErrors.corrupt('The pools document of a set is not valid JSON.', { cause: error })
  }
  if (!Value.Check(PoolsDocument, document)) {
    throw storageErrors.corrupt(
      'The pools document of a set has unknown or invalid fields. A newer release may have written it.',
    )
  }
  return document
}
