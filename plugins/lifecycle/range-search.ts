/** Whether a key is in one of many ranges, and old enough for it. There may be a thousand rules, and a dry run looks at every version of the bucket. */
import type { DueRange } from 'svc/plugins/objects/api'

interface Place {
  readonly prefix: string
  /** The next shorter prefix that this one begins with. */
  readonly outer: Place | undefined
  /** The last of this prefix and all outer ones. */
  readonly lastDay: number
}

export function createRangeSearch(ranges: readonly DueRange[]): (key: string, day: number) => boolean {
  const places = placesOf(ranges)
  return (key, day) => {
    // Whatever the key begins with sorts before it, and all prefixes from there on up to the key begin with that, too.
    let place: Place | undefined = places[countUpTo(places, key) - 1]
    while (place !== undefined && !key.startsWith(place.prefix)) place = place.outer
    return place !== undefined && day <= place.lastDay
  }
}

function placesOf(ranges: readonly DueRange[]): readonly Place[] {
  const lastDays = new Map<string, number>()
  for (const { prefix, lastDay } of ranges) {
    lastDays.set(prefix, Math.max(lastDay, lastDays.get(prefix) ?? Number.NEGATIVE_INFINITY))
  }
  const places: Place[] = []
  for (const prefix of [...lastDays.keys()].sort()) {
    let outer: Place | undefined = places.at(-1)
    while (outer !== undefined && !prefix.startsWith(outer.prefix)) outer = outer.outer
    const lastDay = Math.max(lastDays.get(prefix)!, outer?.lastDay ?? Number.NEGATIVE_INFINITY)
    places.push({ prefix, outer, lastDay })
  }
  return places
}

/** The number of places whose prefix does not sort behind the key. */
function countUpTo(places: readonly Place[], key: string): number {
  let [low, high] = [0, places.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (places[middle]!.prefix <= key) low = middle + 1
    else high = middle
  }
  return low
}
