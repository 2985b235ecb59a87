/** JSON Pointers (RFC 6901) of problems. */

/** A longer name is cut: each problem below it would repeat it. */
const nameCharsMax = 256

/** The place of a field or an element. */
export function placeIn(pointer: string, name: string | number): string {
  if (typeof name === 'number') return `${pointer}/${name}`
  return `${pointer}/${cut(name).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** The pointer with each of its names cut. */
export function shortPointer(pointer: string): string {
  return pointer.length > nameCharsMax ? pointer.split('/').map(cut).join('/') : pointer
}

const cut = (name: string) => (name.length > nameCharsMax ? `${name.slice(0, nameCharsMax)}…` : name)
