/** A form that begins a purge or a warm-up, and its fields that both have. */
import { Group, Paper, Stack, Text, Textarea } from '@mantine/core'
import type { FormEvent, ReactNode } from 'react'
import { useBesideFields } from '../../parts/beside-fields.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { SentFields } from '../../parts/sent-fields.tsx'
import { type PatternDraft, Patterns } from './patterns.tsx'

export interface TaskFormProps {
  readonly hint: string
  readonly onSubmit: (event?: FormEvent<HTMLFormElement>) => void
  readonly error: Error | null
  readonly isSending: boolean
  readonly setErrors: (errors: Record<string, string>) => void
  /** The buttons. */
  readonly actions: ReactNode
  readonly children: ReactNode
}

export function TaskForm({ hint, onSubmit, error, isSending, setErrors, actions, children }: TaskFormProps) {
  const { element, unsaid } = useBesideFields(error, setErrors)
  return (
    <Paper withBorder p="md">
      <form {...element} onSubmit={onSubmit}>
        <Stack>
          <Text size="sm" c="dimmed">
            {hint}
          </Text>
          <SentFields isSending={isSending}>{children}</SentFields>
          {unsaid !== null && <ProblemAlert error={unsaid} />}
          <Group>{actions}</Group>
        </Stack>
      </form>
    </Paper>
  )
}

export interface PagesInputProps {
  readonly label: string
  readonly hint: string
  readonly types?: readonly PatternDraft['type'][]
  readonly form: {
    readonly values: { readonly patterns: readonly PatternDraft[] }
    readonly errors: Readonly<Record<string, ReactNode>>
    getInputProps(path: 'paths'): { readonly onChange: (change: unknown) => void }
    setFieldValue(path: 'patterns', value: readonly PatternDraft[]): void
  }
}

/** Paths, one a line, and patterns. */
export function PagesInput({ label, hint, types, form }: PagesInputProps) {
  return (
    <>
      <Textarea label={label} description={hint} autosize minRows={2} maxRows={12} {...form.getInputProps('paths')} />
      <Patterns
        {...(types !== undefined && { types })}
        value={form.values.patterns}
        errors={form.errors}
        onChange={patterns => form.setFieldValue('patterns', patterns)}
      />
    </>
  )
}
