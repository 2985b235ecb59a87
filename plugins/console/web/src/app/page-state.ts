/** A value of the whole page that code outside of components sets. */
import { useSyncExternalStore } from 'react'

export interface PageState<Value> {
  set(value: Value): void
  get(): Value
  /** For components, which are drawn again when it changes. */
  use(): Value
}

export function createPageState<Value>(initial: Value): PageState<Value> {
  let value = initial
  const listeners = new Set<() => void>()
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  return {
    set(next) {
      value = next
      for (const listener of listeners) listener()
    },
    get: () => value,
    use: () => useSyncExternalStore(subscribe, () => value),
  }
}
