/** A value that is inherited where it is missing, which is not the same as an empty one. */
import { Checkbox, Stack, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'

export interface NoneBoxProps {
  /** The label of the field. */
  readonly of: string
  readonly label: string
  readonly checked: boolean
  readonly onChange: (isNone: boolean) => void
}

/** Below a field in which nothing is typed: whether that is inherited, or none. */
export function NoneBox({ of, label, checked, onChange }: NoneBoxProps) {
  return (
    <Checkbox
      size="xs"
      label={label}
      aria-label={`${of}: ${label}`}
      checked={checked}
      onChange={event => onChange(event.currentTarget.checked)}
    />
  )
}

export interface InheritableTextProps {
  readonly label: string
  /** Null: inherited. */
  readonly value: string | null
  readonly onChange: (value: string | null) => void
  /** Shown where it is inherited. */
  readonly placeholder: string
  readonly noneLabel: string
  readonly error?: ReactNode
  readonly isReadOnly?: boolean
}

export function InheritableText(props: InheritableTextProps) {
  const { label, value, onChange, placeholder, noneLabel, error, isReadOnly = false } = props
  return (
    <Stack gap={4}>
      <TextInput
        label={label}
        {...(value === null && { placeholder })}
        value={value ?? ''}
        error={error}
        onChange={event => onChange(event.currentTarget.value === '' ? null : event.currentTarget.value)}
        readOnly={isReadOnly}
      />
      {(value ?? '') === '' && !isReadOnly && (
        <NoneBox
          of={label}
          label={noneLabel}
          checked={value !== null}
          onChange={isNone => onChange(isNone ? '' : null)}
        />
      )}
    </Stack>
  )
}
