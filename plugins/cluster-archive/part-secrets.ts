/** Secrets of documents in an archive: each is sealed at its place, bound to its document. */
import { type SecretPlace, secretFields, secretPlaces } from 'svc/plugins/store/api'
import type { TSchema } from 'typebox'

type Place = readonly [part: string, id: string]

const contextOf = ([part, id]: Place, pointer: string) => `archive document\n${part}\n${id}\n${pointer}`

/** A copy of the document in which each secret is `{"sealed": …}`. */
export function sealSecrets(
  schema: TSchema,
  value: unknown,
  place: Place,
  seal: (text: string, context: string) => string,
): unknown {
  return changed(schema, value, ({ container, name, pointer }) => ({
    sealed: seal(JSON.stringify(container[name]), contextOf(place, pointer)),
  }))
}

/** The reverse. What is not sealed stays as it is, and is refused by the schema where it is not a secret. */
export function openSecrets(
  schema: TSchema,
  value: unknown,
  place: Place,
  open: (sealed: string, context: string) => string,
): unknown {
  return changed(schema, value, ({ container, name, pointer }) => {
    const sealed = (container[name] as { sealed?: unknown } | null)?.sealed
    return typeof sealed === 'string' ? JSON.parse(open(sealed, contextOf(place, pointer))) : container[name]
  })
}

function changed(schema: TSchema, value: unknown, change: (place: SecretPlace) => unknown): unknown {
  const copy = structuredClone(value)
  for (const place of secretPlaces(copy, secretFields(schema))) place.container[place.name] = change(place)
  return copy
}
