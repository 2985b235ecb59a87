/** A map from keys of bytes to values, walked in the order of the bytes. */

/** Latin-1 keeps one character per byte, so the order of the strings is the order of the bytes. */
export function textOf(key: Uint8Array): string {
  return Buffer.from(key).toString('latin1')
}

export class OrderedMap<Value> {
  readonly #values = new Map<string, Value>()
  /** Made when somebody walks, forgotten when a key comes or goes. */
  #sorted: string[] | undefined

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  /** Returns what undoes the change. */
  set(key: string, value: Value | undefined): () => void {
    const before = this.#values.get(key)
    if ((before === undefined) !== (value === undefined)) this.#sorted = undefined
    if (value === undefined) this.#values.delete(key)
    else this.#values.set(key, value)
    return () => {
      this.set(key, before)
    }
  }

  /** The position of the first key that is not smaller, among `keys`. */
  lowerBound(key: string): number {
    const keys = this.keys()
    let low = 0
    let high = keys.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (keys[middle] < key) low = middle + 1
      else high = middle
    }
    return low
  }

  keys(): readonly string[] {
    this.#sorted ??= [...this.#values.keys()].sort()
    return this.#sorted
  }
}
