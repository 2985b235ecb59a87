/**
 * A map whose keys can be walked in order. No order is kept until somebody asks for one; then the keys that came since the last time are
 * put in their places, so that a walk over a short range costs what it finds, and not what the map holds.
 */

/** Fresh keys are few: each that comes moves those behind it. */
const freshMin = 256
const freshShare = 16

export class OrderedMap<V> extends Map<string, V> {
  /** All keys but the fresh ones. */
  #sorted: string[] = []
  /** Keys that came later, until they are enough to be merged with the others. */
  #fresh: string[] = []
  /** Stands before the first key that is in neither of them: a map gives its keys in the order in which they came. */
  #rest: MapIterator<string> | undefined

  override delete(key: string): boolean {
    this.#forget()
    return super.delete(key)
  }

  override clear(): void {
    this.#forget()
    super.clear()
  }

  #forget(): void {
    if (this.#rest === undefined) return
    this.#sorted = []
    this.#fresh = []
    this.#rest = undefined
  }

  /** All keys, in two ascending lists, as of now. */
  orderedKeys(): readonly [readonly string[], readonly string[]] {
    const known = this.#sorted.length + this.#fresh.length
    // An iterator that has told its end tells nothing that comes later: it is asked for no more than there is.
    let count = this.size - known
    if (count > 0) {
      this.#rest ??= this.keys()
      if (this.#fresh.length + count > Math.max(freshMin, this.#sorted.length / freshShare)) {
        const keys = this.#fresh
        for (; count > 0; count--) keys.push(this.#rest.next().value!)
        this.#sorted = merge(this.#sorted, keys.sort(byCodeUnits))
        this.#fresh = []
      } else {
        for (; count > 0; count--) {
          const key = this.#rest.next().value!
          this.#fresh.splice(lowerBound(this.#fresh, key), 0, key)
        }
      }
    }
    return [this.#sorted, this.#fresh]
  }
}

/** Index of the first key that is not below `text`. */
export function lowerBound(keys: readonly string[], text: string): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keys[middle]! < text) low = middle + 1
    else high = middle
  }
  return low
}

function byCodeUnits(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

/** Both ascending, without a key in common. */
function merge(left: readonly string[], right: readonly string[]): string[] {
  const merged: string[] = []
  let at = 0
  for (const key of right) {
    while (at < left.length && left[at]! < key) merged.push(left[at++]!)
    merged.push(key)
  }
  while (at < left.length) merged.push(left[at++]!)
  return merged
}
