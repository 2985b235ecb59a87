/**
 * Of a double click the second click comes before a button can show that its request is under way: it would make a second access key, or a
 * second version. Buttons that submit a form, and those marked with `once`, take the first alone.
 */
export const once = { 'data-once': true }

export function ignoreSecondClicks(): void {
  let before: Element | null = null
  const ignore = (event: MouseEvent) => {
    if (!(event.target instanceof Element)) return
    const button = event.target.closest('button[type=submit], [data-once]')
    // Browsers count clicks at one place, also where another button stands by now.
    const isSecond = button === before && event.detail > 1
    before = button
    if (button === null || !isSecond) return
    event.preventDefault()
    event.stopPropagation()
  }
  document.addEventListener('click', ignore, { capture: true })
}
