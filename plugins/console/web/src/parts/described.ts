/**
 * For inputs that share one `Input.Wrapper`, whose words stand below all of them under this id (`errorProps`): a screen reader reads the words
 * with each that is at fault.
 */
export const describedBy = (id: string, isAtFault: boolean) =>
  isAtFault ? { error: true, withAria: false, 'aria-invalid': true, 'aria-describedby': id } : {}
