/** A field for a number. What is pasted is taken as it is or not at all: without the comma of `1,5` it would be 15. */
import { NumberInput as MantineNumberInput, type NumberInputProps } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import type { ClipboardEvent } from 'react'
import { texts } from '../texts/index.ts'

export function NumberInput(props: NumberInputProps) {
  const { allowDecimal = true, onChange } = props
  const paste = (event: ClipboardEvent<HTMLInputElement>) => {
    const text = event.clipboardData.getData('text').trim()
    if (/^-?\d+$/.test(text) || (allowDecimal && /^-?\d*\.\d+$/.test(text))) return
    event.preventDefault()
    // The field of Mantine puts in what it makes of the text by itself.
    event.stopPropagation()
    // Three digits after a comma may be thousands.
    const decimal = /^(-?\d+),(\d{1,2}|\d{4,})$/.exec(text)
    if (allowDecimal && decimal !== null) onChange?.(Number(`${decimal[1]}.${decimal[2]}`))
    else notifications.show({ color: 'orange', message: texts.common.noNumber(text, allowDecimal) })
  }
  // What is wrong is told, and not made right: of 0 requests a second would be 1.
  // A part is told by the server where it takes none: without its point 1.5 would be 15.
  return (
    <MantineNumberInput
      onPasteCapture={paste}
      clampBehavior="none"
      {...props}
      allowDecimal
      allowedDecimalSeparators={['.', ',']}
    />
  )
}
