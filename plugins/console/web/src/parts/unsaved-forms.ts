/** Forms of the page that have something unsaved. */
const forms = new Set<object>()

export const hasUnsaved = (): boolean => forms.size > 0

/** Returns what takes it off again. */
export function addUnsaved(): () => void {
  const form = {}
  forms.add(form)
  return () => void forms.delete(form)
}
