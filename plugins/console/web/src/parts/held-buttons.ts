/**
 * A click belongs to what is below the pointer both when it is pressed and when it is released. Where a notice goes away, or an answer
 * arrives, between the two, the button moves off, and nobody would get the click: a button holds the pointer until it is moved away.
 */
const nearPx = 8

export function holdPressedButtons(): void {
  document.addEventListener('pointerdown', ({ target, button, pointerId, clientX, clientY }) => {
    const pressed = button === 0 && target instanceof Element ? target.closest('button') : null
    if (pressed === null) return
    pressed.setPointerCapture(pointerId)
    // Whoever moves the pointer off and releases it there does not want it.
    const move = (event: PointerEvent) => {
      if (Math.hypot(event.clientX - clientX, event.clientY - clientY) < nearPx) return
      pressed.releasePointerCapture(pointerId)
    }
    pressed.addEventListener('pointermove', move)
    pressed.addEventListener('lostpointercapture', () => pressed.removeEventListener('pointermove', move), {
      once: true,
    })
  })
}
