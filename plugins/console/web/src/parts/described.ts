/**
 * For inputs that share one `Input.Wrapper`, whose words stand below all of them under this id (`errorProps`): a screen reader reads the words
 * with each that is at fault.
 */
export const describedBy = (id: string, isAtFault: boolean, descriptionId?: string) => {
  if (!isAtFault) return descriptionId === undefined ? {} : { withAria: false, 'aria-describedby': descriptionId }
  const ids = descriptionId === undefined ? id : `${descriptionId} ${id}`
  return { error: true, withAria: false, 'aria-invalid': true, 'aria-describedby': ids }
}
