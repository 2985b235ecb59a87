/** Forms of the page that have something unsaved. */
import { useSyncExternalStore } from 'react'

/** Some forms, with a listener that is told when one comes or goes. */
export class UnsavedForms {
  readonly #forms = new Set<object>()
  readonly #onChange: () => void

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  get hasAny(): boolean {
    return this.#forms.size > 0
  }

  /** Returns what takes it off again. */
  add(): () => void {
    const form = {}
    this.#forms.add(form)
    this.#onChange()
    return () => {
      this.#forms.delete(form)
      this.#onChange()
    }
  }
}

const listeners = new Set<() => void>()
const ofPage = new UnsavedForms(() => {
  for (const listener of listeners) listener()
})

export const hasUnsaved = (): boolean => ofPage.hasAny

/** Returns what takes it off again. */
export const addUnsaved = (): (() => void) => ofPage.add()

export const useHasUnsaved = (): boolean => useSyncExternalStore(listen, hasUnsaved)

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}
