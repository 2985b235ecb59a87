/**
 * A click belongs to what is below the pointer both when it is pressed and when it is released. Where a notice goes away, or an answer
 * arrives, between the two, the button moves off, and nobody would get the click: a button holds the pointer that has pressed it. What the
 * visitor has not meant is no click: a pointer that has left, a page that was scrolled, a dialog that has opened above, a button that stands
 * for something else by now.
 */
const nearPx = 8

interface Held {
  readonly button: HTMLButtonElement
  readonly pointerId: number
  readonly x: number
  readonly y: number
  readonly name: string
  readonly dialogs: number
}

let held: Held | undefined

export function holdPressedButtons(): void {
  document.addEventListener('pointerdown', ({ target, button: which, pointerId, clientX: x, clientY: y }) => {
    const button = which === 0 && target instanceof Element ? target.closest('button') : null
    held = undefined
    if (button === null) return
    held = { button, pointerId, x, y, name: nameOf(button), dialogs: dialogs().length }
    button.setPointerCapture(pointerId)
  })
  document.addEventListener('pointermove', event => {
    if (held !== undefined && event.pointerId === held.pointerId && !isNear(held, event)) letGo()
  })
  document.addEventListener('wheel', letGo, { passive: true })
  const click = (event: MouseEvent) => {
    const pressed = held
    // Keys click without a pointer.
    if (pressed === undefined || event.detail === 0) return
    held = undefined
    if (!(event.target instanceof Node) || !pressed.button.contains(event.target) || isMeant(pressed, event)) return
    event.preventDefault()
    event.stopPropagation()
  }
  document.addEventListener('click', click, { capture: true })
}

/** What happens from here on is the browser's to decide. */
function letGo(): void {
  if (held?.button.hasPointerCapture(held.pointerId) === true) held.button.releasePointerCapture(held.pointerId)
  held = undefined
}

const isNear = ({ x, y }: Held, { clientX, clientY }: MouseEvent): boolean =>
  Math.hypot(clientX - x, clientY - y) < nearPx

function isMeant(pressed: Held, event: MouseEvent): boolean {
  const open = dialogs()
  const isCovered = open.length > pressed.dialogs && open.at(-1)?.contains(pressed.button) === false
  return isNear(pressed, event) && !isCovered && nameOf(pressed.button) === pressed.name
}

const dialogs = (): readonly Element[] => [...document.querySelectorAll('[role=dialog], dialog[open]')]

const nameOf = (button: HTMLButtonElement): string => button.ariaLabel ?? button.textContent
