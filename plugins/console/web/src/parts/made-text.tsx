/** Text to be copied. Where a dialog has made it the button gets the focus: the button that had it is gone or was disabled. */
import { Button, type ButtonProps, CopyButton, Group, TextInput } from '@mantine/core'
import { IconCopy } from '@tabler/icons-react'
import { useEffect, useRef } from 'react'
import { texts } from '../texts/index.ts'

export interface CopyTextProps extends Pick<ButtonProps, 'variant'> {
  readonly value: string
  /** Gets the focus as soon as it is there, and again when it is for another text. */
  readonly isMade?: boolean
}

export function CopyText({ value, variant = 'filled', isMade = false }: CopyTextProps) {
  const button = useRef<HTMLButtonElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text is another answer
  useEffect(() => {
    if (isMade) button.current?.focus()
  }, [value, isMade])
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button ref={button} variant={variant} leftSection={<IconCopy size={16} aria-hidden />} onClick={copy}>
          {copied ? texts.common.copied : texts.common.copy}
        </Button>
      )}
    </CopyButton>
  )
}

export function MadeText({ label, text }: { label: string; text: string }) {
  return (
    <>
      <TextInput label={label} value={text} readOnly onFocus={event => event.currentTarget.select()} />
      <Group>
        <CopyText value={text} variant="default" isMade />
      </Group>
    </>
  )
}
