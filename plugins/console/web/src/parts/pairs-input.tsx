/** Names with values: tags, metadata, headers, credentials. */
import { Button, Group, Input, PasswordInput, Stack, TextInput } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { texts } from '../texts/index.ts'
import { focusNewField } from './focus-new.ts'
import { Tool } from './tool.tsx'

export type Pair = readonly [name: string, value: string]

export const pairsOf = (given: object | undefined): readonly Pair[] =>
  Object.entries((given ?? {}) as Record<string, string>)

/** The pairs as an object, without pairs whose name is empty. */
export const objectOf = (pairs: readonly Pair[]): Record<string, string> =>
  Object.fromEntries(pairs.map(([name, value]) => [name.trim(), value] as const).filter(([name]) => name !== ''))

export interface PairsInputProps {
  /** The word for one pair: `tag`, `header`. */
  readonly of: string
  readonly label?: string
  readonly hint?: string
  readonly value: readonly Pair[]
  readonly error?: ReactNode
  readonly onChange: (value: readonly Pair[]) => void
  readonly isSecret?: boolean
}

export function PairsInput({ of, label, hint, value, error, onChange, isSecret = false }: PairsInputProps) {
  const Value = isSecret ? PasswordInput : TextInput
  const add = () => {
    focusNewField()
    onChange([...value, ['', '']])
  }
  return (
    <Input.Wrapper
      {...(label !== undefined && { label })}
      {...(hint !== undefined && { description: hint })}
      error={error}
    >
      <Stack gap="xs" mt={label === undefined ? 0 : 4}>
        {value.map(([name, text], index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a pair has no identity but its place while it is typed
          <Group key={index} gap="xs" wrap="nowrap">
            <TextInput
              aria-label={texts.pairs.name(of, index + 1)}
              placeholder={texts.common.name}
              value={name}
              flex={1}
              // It would be left out.
              required={text !== ''}
              onChange={event => onChange(value.with(index, [event.currentTarget.value, text]))}
            />
            <Value
              aria-label={texts.pairs.value(of, index + 1)}
              placeholder={texts.pairs.placeholder}
              value={text}
              flex={1}
              onChange={event => onChange(value.with(index, [name, event.currentTarget.value]))}
            />
            <Tool
              label={texts.pairs.remove(of, index + 1)}
              icon={IconX}
              onClick={() => onChange(value.toSpliced(index, 1))}
            />
          </Group>
        ))}
        <Group>
          <Button variant="default" size="compact-sm" onClick={add}>
            {texts.pairs.add(of)}
          </Button>
        </Group>
      </Stack>
    </Input.Wrapper>
  )
}
