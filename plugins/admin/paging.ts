/** Lists: `cursor` and `limit` in the request, `{items, nextCursor}` in the answer. */
import { type TSchema, Type } from 'typebox'
import { adminErrors } from './errors.ts'

/** For the query schema of every list. */
export const pageParameters = {
  cursor: Type.String({ default: '', maxLength: 8192, description: '`nextCursor` of the page before.' }),
  limit: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 1000,
    description: 'At most so many items on a page; a page of long ones has fewer.',
  }),
}

/** The answer of a list. */
export function pageOf<Item extends TSchema>(item: Item) {
  return Type.Object({
    items: Type.Array(item),
    nextCursor: Type.String({ description: 'Empty on the last page.' }),
  })
}

/** The start of the next page as the client gets it; undefined on the last page. */
export function encodeCursor(position: string | undefined): string {
  return position === undefined ? '' : Buffer.from(`v1:${position}`).toString('base64url')
}

/** The position in a cursor; undefined for the first page. Throws `invalid_argument` for a text that no list returned. */
export function decodeCursor(cursor: string): string | undefined {
  if (cursor === '') return undefined
  const position = Buffer.from(cursor, 'base64url').toString()
  if (!position.startsWith('v1:') || encodeCursor(position.slice(3)) !== cursor) throw badCursor()
  return position.slice(3)
}

/** A place in a list by key and, within a key, by an id without spaces: what `encodeCursor` takes. */
export const placeOf = (key: string, id: string): string => `${id} ${key}`

/** The key and the id of such a place; empty ones for the first page. Throws as `decodeCursor`. */
export function readPlace(position: string | undefined): { readonly key: string; readonly id: string } {
  if (position === undefined) return { key: '', id: '' }
  const space = position.indexOf(' ')
  if (space < 1) throw badCursor()
  return { key: position.slice(space + 1), id: position.slice(0, space) }
}

function badCursor(): Error {
  return adminErrors.invalid_argument('The cursor was not returned by a list.')
}
