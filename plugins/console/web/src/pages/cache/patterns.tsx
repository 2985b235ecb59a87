import { Button, Checkbox, Group, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { choicesOf } from '../../parts/choices.ts'
import { focusNewField } from '../../parts/focus-new.ts'
import { Tool } from '../../parts/tool.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'

const words = cacheTexts.cachePurge

const patternTypes = ['prefix', 'glob', 'regex'] as const

export interface PatternDraft {
  readonly type: (typeof patternTypes)[number]
  readonly pattern: string
  readonly caseInsensitive: boolean
}

export interface PatternsProps {
  /** Types of patterns that the server accepts here. Only purges accept regular expressions and patterns that ignore case. */
  readonly types?: readonly PatternDraft['type'][]
  readonly value: readonly PatternDraft[]
  /** Errors by path, such as `patterns.0.pattern`. */
  readonly errors: Readonly<Record<string, ReactNode>>
  readonly onChange: (value: readonly PatternDraft[]) => void
}

export function Patterns({ types = patternTypes, value, errors, onChange }: PatternsProps) {
  const change = (index: number, changed: Partial<PatternDraft>) =>
    onChange(value.map((each, at) => (at === index ? { ...each, ...changed } : each)))
  return (
    <Stack gap="sm">
      {value.map(({ type, pattern, caseInsensitive }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a pattern has no identity but its place while it is typed
        <Group key={index} align="flex-end" wrap="nowrap">
          <SimpleGrid cols={{ base: 1, sm: 2 }} flex={1} verticalSpacing="xs">
            <TextInput
              label={words.patternText(index + 1)}
              placeholder={type === 'prefix' ? '/docs/' : type === 'glob' ? '/docs/**/*.html' : '^/docs/.*\\.html$'}
              value={pattern}
              error={errors[`patterns.${index}.pattern`]}
              onChange={event => change(index, { pattern: event.currentTarget.value })}
            />
            <NativeSelect
              label={words.patternType(index + 1)}
              data={choicesOf(words.patternTypes).filter(choice =>
                types.includes(choice.value as PatternDraft['type']),
              )}
              value={type}
              onChange={event => change(index, { type: event.currentTarget.value as PatternDraft['type'] })}
            />
            {types.includes('regex') && (
              <Checkbox
                label={words.caseInsensitive(index + 1)}
                checked={caseInsensitive}
                onChange={event => change(index, { caseInsensitive: event.currentTarget.checked })}
              />
            )}
          </SimpleGrid>
          <Tool
            label={`${texts.common.remove} ${words.pattern(index + 1)}`}
            icon={IconX}
            onClick={() => onChange(value.toSpliced(index, 1))}
          />
        </Group>
      ))}
      <Group>
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => {
            focusNewField()
            onChange([...value, { type: 'prefix', pattern: '', caseInsensitive: false }])
          }}
        >
          {words.addPattern}
        </Button>
      </Group>
    </Stack>
  )
}
