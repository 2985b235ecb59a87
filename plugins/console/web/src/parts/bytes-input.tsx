/** A size as a number and its unit; nothing is no limit. */
import { Group, Input, NativeSelect } from '@mantine/core'
import { type ReactNode, useId, useState } from 'react'
import { texts } from '../texts/index.ts'
import { describedBy } from './described.ts'
import { formatBytes } from './format.ts'
import { NumberInput } from './number-input.tsx'

const units = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 } as const
type Unit = keyof typeof units

export interface BytesInputProps<None extends 0 | ''> {
  readonly label: string
  readonly description?: ReactNode
  readonly error?: ReactNode
  /** Bytes, or what an empty input is. */
  readonly value: number | NoInfer<None>
  readonly onChange: (bytes: number | NoInfer<None>) => void
  /** What an empty input is: 0 where no bytes are no limit (the default), '' where they are a limit of their own. */
  readonly none?: None
  /** Offered first where nothing is set. */
  readonly usualUnit?: Unit
}

export function BytesInput<None extends 0 | '' = 0>(props: BytesInputProps<None>) {
  const { label, description, error, value, onChange, none = 0 as None, usualUnit = 'GiB' } = props
  const id = useId()
  const descriptionId = `${id}-description`
  const [unit, setUnit] = useState<Unit>(() => unitOf(value) ?? usualUnit)
  // As it was typed: as bytes and back, 1.23456789012 would be another number while one types.
  const [typed, setTyped] = useState<{ readonly number: number | string; readonly bytes: number | None }>()
  // What is stored may have been changed by others to what the unit cannot say.
  const stored = value === '' || value === none ? '' : Number((Number(value) / units[unit]).toPrecision(12))
  const shown = typed?.bytes === value ? typed.number : stored
  const change = (number: number | string, of: Unit) => {
    const bytes = number === '' ? none : bytesOf(Number(number) * units[of])
    setTyped({ number, bytes })
    onChange(bytes)
  }
  const choose = (next: Unit) => {
    setUnit(next)
    change(shown, next)
  }
  return (
    <Input.Wrapper
      label={label}
      description={description}
      descriptionProps={{ id: descriptionId }}
      error={typeof error === 'string' ? withSizes(error) : error}
      errorProps={{ id }}
    >
      <Group gap="xs" wrap="nowrap" {...(description !== undefined && { mb: 5 })}>
        <NumberInput
          aria-label={label}
          min={0}
          allowDecimal={unit !== 'B'}
          flex={1}
          {...describedBy(
            id,
            error !== undefined && error !== null,
            description === undefined ? undefined : descriptionId,
          )}
          value={shown}
          onChange={given => change(given, unit)}
        />
        <NativeSelect
          aria-label={texts.common.unit(label)}
          data={Object.keys(units)}
          value={unit}
          onChange={event => choose(event.currentTarget.value as Unit)}
        />
      </Group>
    </Input.Wrapper>
  )
}

/** The server counts in bytes: its words, and what its numbers are. */
export const withSizes = (words: string): string =>
  [words, ...(words.match(/\b\d{4,}\b/g) ?? []).map(bytes => `${bytes} bytes are ${formatBytes(Number(bytes))}.`)].join(
    ' ',
  )

/** Whole bytes. A part of one is not nothing, which would be no limit. */
const bytesOf = (size: number): number => (size > 0 ? Math.max(1, Math.round(size)) : Math.round(size))

/** The largest of which it is one or more, and with three decimals exact. */
function unitOf(bytes: number | ''): Unit | undefined {
  if (bytes === 0 || bytes === '') return undefined
  const names = (Object.keys(units) as Unit[]).reverse()
  return names.find(name => bytes >= units[name] && Number((bytes / units[name]).toFixed(3)) * units[name] === bytes)
}
