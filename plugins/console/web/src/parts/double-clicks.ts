/**
 * Of a double click the second click comes before a button can show that its request is under way: it would make a second access key, or a
 * second version. Buttons that submit a form, and those marked with `once`, take the first alone.
 */
export const once = { 'data-once': true }

export function ignoreSecondClicks(): void {
  const ignore = (event: MouseEvent) => {
    if (event.detail < 2 || !(event.target instanceof Element)) return
    if (event.target.closest('button[type=submit], [data-once]') === null) return
    event.preventDefault()
    event.stopPropagation()
  }
  document.addEventListener('click', ignore, { capture: true })
}
