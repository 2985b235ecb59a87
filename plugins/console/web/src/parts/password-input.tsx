/** A field for a secret. Mantine tells people who see that it is at fault; this tells those who hear. */
import { PasswordInput as MantinePasswordInput, type PasswordInputProps } from '@mantine/core'
import { useId } from 'react'

export function PasswordInput(props: PasswordInputProps) {
  const errorId = useId()
  const isAtFault = props.error !== undefined && props.error !== null && props.error !== false
  return (
    <MantinePasswordInput
      errorProps={{ id: errorId }}
      {...(isAtFault && { 'aria-invalid': true, 'aria-describedby': errorId })}
      {...props}
    />
  )
}
