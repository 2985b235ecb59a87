/** After something was added to a page the focus goes to its first field. Call it before the change. */
export function focusNewField(): void {
  const fields = () => [
    ...document.querySelectorAll<HTMLElement>('main :is(input, textarea, select), [role=dialog] input'),
  ]
  const before = new Set(fields())
  setTimeout(() =>
    fields()
      .find(field => !before.has(field) && field.checkVisibility())
      ?.focus(),
  )
}
