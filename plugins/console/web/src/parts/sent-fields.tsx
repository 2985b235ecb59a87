/** The fields of a form, one below the other. */
import { Stack, type StackProps } from '@mantine/core'
import { useFocusKept } from './focus-kept.ts'

export interface SentFieldsProps extends Pick<StackProps, 'gap' | 'children'> {
  /** Whether they are on their way: nothing can be typed then. It would be gone with the answer, or taken for what was sent. */
  readonly isSending: boolean
}

export function SentFields({ isSending, ...stack }: SentFieldsProps) {
  useFocusKept(isSending)
  return <Stack inert={isSending} {...stack} />
}
