/**
 * Maps the arguments and options of a command to the request. The target comes first (`ALIAS`, `ALIAS/bucket` or
 * `ALIAS/bucket/key`), then the parameters of the path, then the required fields of the body; all other fields are options.
 */
import type { TypedWords } from '../typed-words.ts'
import { type Field, fieldOf, fieldsOf, kebab, optionName, placeholder } from './fields.ts'
import type { Operation, Schema } from './operations.ts'
import { overrides } from './overrides.ts'

export type Place = 'path' | 'query' | 'body'

export interface PlacedField {
  readonly field: Field
  readonly place: Place
}

export interface Plan {
  /** The field that each element of the target behind the alias goes to. */
  readonly bucket: { readonly name: string; readonly place: Place } | undefined
  readonly key: { readonly name: string; readonly place: Place; readonly isRequired: boolean } | undefined
  /** One argument each, in this order; those that take `null` may be left out. */
  readonly positional: readonly PlacedField[]
  /** The last argument: several values, or a file. */
  readonly rest: Field | undefined
  readonly restPlace: PlacedField['place']
  /** The body as a whole is the file that the last argument names. */
  readonly isBodyOfFile: boolean
  readonly options: readonly PlacedField[]
  readonly secrets: readonly Field[]
  /** The answer comes in pages. */
  readonly isPaged: boolean
}

export function planOf(operation: Operation): Plan {
  const { id, path, pathParameters, body, isBodyRequired } = operation
  const { hidden = [], bucketField, query: sent = {} } = overrides[id] ?? {}
  const query = operation.query
    .filter(({ name }) => sent[name] === undefined)
    .map(({ name, isRequired, schema }) => fieldOf(name, isRequired, schema))
  const isPaged = query.some(({ name }) => name === 'cursor')
  const inBody = (body === undefined ? [] : fieldsOf(body)).filter(({ name }) => !hidden.includes(name))
  const isOfBucket = path.startsWith('/buckets/{bucket}')
  const bucket = isOfBucket
    ? ({ name: 'bucket', place: 'path' } as const)
    : bucketField === undefined
      ? undefined
      : ({ name: bucketField, place: 'body' } as const)
  const placed: readonly PlacedField[] = [
    ...query.filter(({ name }) => !(isPaged && pageNames.has(name))).map(field => ({ field, place: 'query' as const })),
    ...inBody.map(field => ({ field, place: 'body' as const })),
  ]
  const key = isOfBucket ? placed.find(({ field: { name } }) => name === 'key' || name === 'prefix') : undefined
  const others = placed.filter(one => one !== key && !(one.place === 'body' && one.field.name === bucketField))
  // A body without declared fields is a map, given as a file. A body that can have no fields needs no file.
  const isBodyOfFile =
    overrides[id]?.isBodyOfFile === true ||
    (inBody.length === 0 ? body !== undefined && !isAlwaysEmpty(body) : isBodyRequired && isDocumentAlone(inBody))
  const plain = others.filter(({ field, place }) => field.kind !== 'secret' && !(isBodyOfFile && place === 'body'))
  const isRest = ({ field }: PlacedField) => field.isRequired && restKinds.has(field.kind)
  const rests = plain.filter(isRest)
  const placedRest = rests.length === 1 ? rests[0] : undefined
  const rest = placedRest?.field
  const isPositional = ({ field }: PlacedField) => field.isRequired && !restKinds.has(field.kind)
  return {
    bucket,
    key: key && { name: key.field.name, place: key.place, isRequired: key.field.isRequired },
    positional: [
      ...pathParameters
        .filter(({ name }) => !(isOfBucket && name === 'bucket'))
        .map(({ name, schema }) => ({ field: fieldOf(name, true, schema), place: 'path' as const })),
      ...plain.filter(one => isPositional(one) && !one.field.isNullable),
      ...plain.filter(one => isPositional(one) && one.field.isNullable),
    ],
    rest,
    restPlace: placedRest?.place ?? 'body',
    isBodyOfFile,
    options: plain.filter(one => one.field !== rest && !isPositional(one)),
    secrets: others.filter(({ field }) => field.kind === 'secret').map(({ field }) => field),
    isPaged,
  }
}

/** How the user typed each field of the request. Fields in a file are not included. */
export function typedWords({ bucket, key, positional, rest, restPlace, options, secrets }: Plan): TypedWords {
  const words = new Map<string, string>()
  if (bucket !== undefined) words.set(`${bucket.place}/${bucket.name}`, 'the bucket')
  if (key !== undefined) words.set(`${key.place}/${key.name}`, `the ${key.name}`)
  for (const { field, place } of positional) words.set(`${place}/${field.name}`, kebab(field.name).toUpperCase())
  for (const { field, place } of options) words.set(`${place}/${field.name}`, `--${optionName(field)}`)
  for (const { name } of secrets) words.set(`body/${name}`, `the ${kebab(name).replaceAll('-', ' ')}`)
  if (rest !== undefined && rest.kind !== 'document')
    words.set(`${restPlace}/${rest.name}`, placeholder(rest).toUpperCase())
  return words
}

/** An object type without members. */
const isAlwaysEmpty = ({ type, anyOf, properties, patternProperties, additionalProperties }: Schema): boolean =>
  type === 'object' &&
  anyOf === undefined &&
  properties !== undefined &&
  patternProperties === undefined &&
  (additionalProperties ?? false) === false

const pageNames = new Set(['cursor', 'limit'])
const restKinds = new Set<Field['kind']>(['list', 'pairs', 'document'])

/** Whether the body is one file: with several document fields, single options would only be parts of it. */
function isDocumentAlone(fields: readonly Field[]): boolean {
  const documents = fields.filter(({ kind }) => kind === 'document')
  return documents.length > 1 && documents.length === fields.length
}
