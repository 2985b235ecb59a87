/** A list that is inherited where it is missing, which is not the same as an empty one. */
import { Stack } from '@mantine/core'
import { NoneBox } from '../../parts/inheritable.tsx'
import { TagsInput } from '../../parts/tags-input.tsx'
import { texts } from '../../texts/index.ts'

export interface InheritableNamesProps {
  readonly label: string
  /** Null: inherited. */
  readonly value: readonly string[] | null
  readonly onChange: (value: readonly string[] | null) => void
  /** Shown where it is inherited. */
  readonly placeholder?: string
  readonly noneLabel?: string
  readonly data?: readonly string[]
  readonly error?: unknown
  readonly isReadOnly?: boolean
}

export function InheritableNames({
  label,
  value,
  onChange,
  placeholder = texts.cache.inherited,
  noneLabel = texts.cache.noneAtAll,
  data = [],
  error,
  isReadOnly = false,
}: InheritableNamesProps) {
  return (
    <Stack gap={4}>
      <TagsInput
        label={label}
        // While names are typed they may be empty, and twice the same.
        data={[...new Set(data)].filter(name => name.trim() !== '')}
        {...(value === null && { placeholder })}
        value={[...(value ?? [])]}
        error={error as string | undefined}
        onChange={next => onChange(next.length === 0 ? null : next)}
        readOnly={isReadOnly}
      />
      {(value === null || value.length === 0) && !isReadOnly && (
        <NoneBox
          of={label}
          label={noneLabel}
          checked={value !== null}
          onChange={isNone => onChange(isNone ? [] : null)}
        />
      )}
    </Stack>
  )
}
