/** Where the focus goes when a dialog is closed: to what had it when the dialog opened. */
import { useEffect } from 'react'

/** Of the dialog before, which this one has replaced: nothing has the focus then. */
let opener: HTMLElement | undefined

/** Undefined where nothing has it. */
export const focused = (): HTMLElement | undefined =>
  document.activeElement instanceof HTMLElement && document.activeElement !== document.body
    ? document.activeElement
    : undefined

export function useFocusBack(): void {
  useEffect(() => {
    const before = focused() ?? opener
    return () => {
      opener = before
      // When the dialog is out of the page, and what comes instead is there.
      setTimeout(() => {
        const above = [...document.querySelectorAll('[role=dialog]')].at(-1)
        if (focused() !== undefined || (above !== undefined && !above.contains(before ?? null))) return
        opener = undefined
        before?.focus()
      })
    }
  }, [])
}
