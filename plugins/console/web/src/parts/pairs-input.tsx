/** Names with values: tags, metadata, headers, credentials. */
import { Button, Group, Input, Stack, TextInput } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { type ReactNode, useId, useState } from 'react'
import { errorWithin } from '../api/problem.ts'
import { texts } from '../texts/index.ts'
import { describedBy } from './described.ts'
import { focusNewField } from './focus-new.ts'
import type { Pair } from './pairs.ts'
import { PasswordInput } from './password-input.tsx'
import { Tool } from './tool.tsx'

export interface PairsInputProps {
  /** The word for one pair: `tag`, `header`. */
  readonly of: string
  readonly label?: string
  readonly hint?: string
  readonly value: readonly Pair[]
  readonly error?: ReactNode
  /** The server's words of a form, by path, and the path of the pairs: stands at the pair that is at fault. */
  readonly errors?: Readonly<Record<string, ReactNode>>
  readonly path?: string
  readonly onChange: (value: readonly Pair[]) => void
  readonly isSecret?: boolean
}

export function PairsInput(props: PairsInputProps) {
  const { of, label, hint, value, errors = {}, path = '', onChange, isSecret = false } = props
  const [refused, setRefused] = useState<ReadonlyMap<number, string>>(new Map())
  const names = value.map(([name]) => name.trim())
  const flawOf = (index: number): ReactNode => {
    const name = names[index]!
    // The last of them would be all that is left.
    if (name !== '' && names.indexOf(name) < index) return texts.pairs.twice(name)
    return refused.get(index) ?? errors[`${path}.${name}`]
  }
  const id = useId()
  const errorId = (index: number) => `${id}-${index}`
  const change = (pairs: readonly Pair[]) => {
    setRefused(new Map())
    onChange(pairs)
  }
  const isSaid = value.some((_, index) => flawOf(index) !== undefined)
  const error = props.error ?? (isSaid ? undefined : errorWithin(errors, path))
  const Value = isSecret ? PasswordInput : TextInput
  const add = () => {
    focusNewField()
    change([...value, ['', '']])
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
          <Input.Wrapper key={index} error={flawOf(index)} errorProps={{ id: errorId(index) }}>
            <Group gap="xs" wrap="nowrap" align="flex-start">
              <TextInput
                aria-label={texts.pairs.name(of, index + 1)}
                placeholder={texts.common.name}
                value={name}
                flex={1}
                // It would be left out.
                required={text !== ''}
                {...describedBy(errorId(index), flawOf(index) !== undefined)}
                onInvalid={event => {
                  event.preventDefault()
                  const { currentTarget } = event
                  if (currentTarget.form?.querySelector('input:invalid') === currentTarget) currentTarget.focus()
                  setRefused(known => new Map(known).set(index, texts.common.missing))
                }}
                onChange={event => change(value.with(index, [event.currentTarget.value, text]))}
              />
              <Value
                aria-label={texts.pairs.value(of, index + 1)}
                placeholder={texts.pairs.placeholder}
                value={text}
                flex={1}
                {...describedBy(errorId(index), flawOf(index) !== undefined && text !== '')}
                onChange={event => change(value.with(index, [name, event.currentTarget.value]))}
              />
              <Tool
                label={texts.pairs.remove(of, index + 1)}
                icon={IconX}
                onClick={() => change(value.toSpliced(index, 1))}
              />
            </Group>
          </Input.Wrapper>
        ))}
        <Group>
          <Button variant="default" size="compact-sm" leftSection={<IconPlus size={14} aria-hidden />} onClick={add}>
            {texts.pairs.add(of)}
          </Button>
        </Group>
      </Stack>
    </Input.Wrapper>
  )
}
