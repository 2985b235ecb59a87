/** One setting, of a bucket, an object or the server: read by itself, saved by itself, with the server's words where it may not be read or changed. */
import { Button, Group, Skeleton, Stack } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { type QueryKey, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Tagged } from '../api/client.ts'
import { formErrorsOf, Problem } from '../api/problem.ts'
import { texts } from '../texts/index.ts'
import { useBesideFields } from './beside-fields.ts'
import { Conflict } from './conflict.tsx'
import { ProblemAlert } from './failure.tsx'
import { valueAt } from './form.ts'
import { Section } from './section.tsx'
import { Unsaved } from './unsaved.tsx'

export interface SettingProps<Value> {
  readonly title: string
  readonly hint?: string
  readonly queryKey: QueryKey
  /** Other queries that depend on the setting. */
  readonly stale?: readonly QueryKey[]
  readonly load: (signal: AbortSignal) => Promise<Value>
  /** Resolves with `stay` where somebody has thought better of it, or with what is stored, whose ETag is that of the next change. */
  readonly save: (value: Value, stored: Value) => Promise<Tagged<unknown> | 'stay' | undefined>
  /** Shown, and not to be changed. */
  readonly isReadOnly?: boolean
  readonly children: (
    value: Value,
    change: (value: Value) => void,
    stored: Value,
    /** The server's words at the fields of the body, until something is changed. */
    errors: Readonly<Record<string, string>>,
  ) => ReactNode
}

export function Setting<Value>({
  title,
  hint,
  queryKey,
  stale = [],
  load,
  save,
  isReadOnly = false,
  children,
}: SettingProps<Value>) {
  const queryClient = useQueryClient()
  const [changed, setChanged] = useState<{ readonly value: Value }>()
  const stored = useQuery({ queryKey, queryFn: ({ signal }) => load(signal) })
  const saving = useMutation({
    mutationFn: (value: Value) => save(value, stored.data as Value),
    async onSuccess(outcome, sent) {
      if (outcome === 'stay') return
      const { isSuccess } = await stored.refetch()
      // Else what was read before would look as if nothing were saved. What was typed meanwhile stays, upon what was saved: somebody else
      // may have changed it again by now.
      setChanged(now => {
        if (now === undefined || (now.value === sent && isSuccess)) return undefined
        return { value: upon(outcome, now.value) }
      })
      notifications.show({ color: 'teal', message: `${title}: ${texts.common.saved}` })
      await Promise.all(stale.map(key => queryClient.invalidateQueries({ queryKey: key })))
    },
  })
  /** What the browser has refused, at inputs with `data-path`. */
  const [refused, setRefused] = useState<Readonly<Record<string, string>>>({})
  const { element, unsaid } = useBesideFields(saving.error, setRefused)
  // Whoever may not read a setting need not see that there is one. Who has typed something while he might still sees what becomes of it.
  const isHidden = stored.error instanceof Problem && stored.error.status === 403 && changed === undefined
  if (isHidden) return null
  const value = changed === undefined ? stored.data : changed.value
  const change = (next: Value) => {
    setChanged({ value: next })
    // What was said of other parts of what was sent, or was to be, holds still.
    const said = Object.entries({ ...formErrorsOf(saving.error), ...refused })
    const isAsBefore = ([path]: readonly [string, string]) =>
      JSON.stringify(valueAt(bodyOf(next), path)) === JSON.stringify(valueAt(bodyOf(value), path))
    setRefused(Object.fromEntries(said.filter(isAsBefore)))
    // What is on its way is waited for: the next save is upon it.
    if (!saving.isPending) saving.reset()
  }
  const drop = () => {
    setChanged(undefined)
    saving.reset()
    setRefused({})
  }
  return (
    <Section title={title} hint={hint}>
      <form
        {...element}
        onSubmit={event => {
          event.preventDefault()
          setRefused({})
          if (changed !== undefined) saving.mutate(changed.value)
        }}
      >
        <Stack gap="sm">
          {stored.error !== null && (
            <ProblemAlert error={stored.error} onRetry={() => stored.refetch()} isStale={stored.data !== undefined} />
          )}
          <Conflict
            error={unsaid}
            onLoad={async () => {
              const { isSuccess } = await stored.refetch()
              if (isSuccess) drop()
            }}
          />
          {stored.isPending && <Skeleton h={36} />}
          {value !== undefined && stored.data !== undefined && (
            <fieldset className="plain-fieldset" disabled={isReadOnly}>
              <Stack gap="sm">
                {children(value, change, stored.data, { ...formErrorsOf(saving.error), ...refused })}
              </Stack>
            </fieldset>
          )}
          <Unsaved isDirty={changed !== undefined} />
          {changed !== undefined && (
            <Group>
              <Button type="submit" size="compact-sm" loading={saving.isPending}>
                {texts.common.save}
              </Button>
              <Button variant="default" size="compact-sm" onClick={drop}>
                {texts.common.cancel}
              </Button>
            </Group>
          )}
        </Stack>
      </form>
    </Section>
  )
}

/** The value, to be saved upon what is stored. */
const upon = <Value,>(stored: Tagged<unknown> | undefined, value: Value): Value =>
  typeof value === 'object' && value !== null && 'etag' in value && stored !== undefined
    ? { ...value, etag: stored.etag }
    : value

/** Of a document with its ETag, the document. */
const bodyOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'document' in value ? value.document : value
