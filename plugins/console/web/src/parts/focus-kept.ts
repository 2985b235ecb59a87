/** Where the focus is after a form was `inert` while it was saved: where it was before, also where the form is drawn anew. */
import { useLayoutEffect } from 'react'
import { focused } from './focus-back.ts'

export function useFocusKept(isInert: boolean): void {
  // The browser takes the focus away with the next frame.
  useLayoutEffect(() => {
    const had = isInert ? focused() : undefined
    if (had === undefined) return
    const around = [...ancestors(had)]
    return () => {
      // When what comes instead is there.
      setTimeout(() => {
        // A dialog takes it where nothing has it.
        const now = focused()
        if (now !== undefined && !around.includes(now)) return
        const place = had.dataset.path
        const kept = around.find(one => one.isConnected)
        const again = place && kept?.querySelector<HTMLElement>(`[data-path="${CSS.escape(place)}"]`)
        if (had.isConnected) had.focus({ preventScroll: true })
        else if (again) again.focus({ preventScroll: true })
      })
    }
  }, [isInert])
}

/** As far as its dialog or page. */
function* ancestors(element: Element): Generator<Element> {
  for (let one = element.parentElement; one !== null && one.localName !== 'main'; one = one.parentElement) {
    yield one
    if (one.getAttribute('role') === 'dialog') return
  }
}
