/** The keys of one subsystem with their descriptions and defaults. */
import { Badge, Button, Code, Group, NativeSelect, Stack, Switch, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { call } from '../../api/client.ts'
import { formErrorsOf } from '../../api/problem.ts'
import { useMay } from '../../app/signed-in.ts'
import { useAskFirst } from '../../parts/ask-first.tsx'
import { useBesideFields } from '../../parts/beside-fields.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { type UseFormReturnType, useForm } from '../../parts/form.ts'
import { Prose } from '../../parts/prose.tsx'
import { TagsInput } from '../../parts/tags-input.tsx'
import { Unsaved } from '../../parts/unsaved.tsx'
import { texts } from '../../texts/index.ts'
import { blocksPublic, opensEverywhere } from './block-public-everywhere.tsx'
import { lockOut, locksConsoleOut } from './console-limits.tsx'
import { setMeanwhile, storedNow } from './set-meanwhile.ts'
import type { Subsystem, Values } from './settings.tsx'
import { isAuditTarget, WaitingRecords } from './waiting-records.tsx'

const words = texts.settings

type Key = Subsystem['keys'][number]

/** Width of short values: numbers, times, choices. */
const fieldWidth = 320

export interface SubsystemFormProps {
  readonly name: string
  readonly keys: readonly Key[]
  /** Undefined of one that is being added. */
  readonly values: Values | undefined
  readonly onRemoved?: () => Promise<void>
}

export function SubsystemForm({ name, keys, values, onRemoved }: SubsystemFormProps) {
  const queryClient = useQueryClient()
  const mayChange = useMay('admin:ConfigUpdate')
  const [isResetting, setResetting] = useState(false)
  const { ask, question } = useAskFirst()
  const refresh = () =>
    Promise.all([['config'], ['block-public']].map(queryKey => queryClient.invalidateQueries({ queryKey })))
  const isNamed = name.includes(':')
  const isNew = isNamed && values === undefined
  const defaults = Object.fromEntries(keys.map(key => [key.name, key.default]))
  // What somebody adds is to work, whatever the server takes for a target of which it is not said.
  const offered = isNew && defaults.enable !== undefined ? { ...defaults, enable: 'on' } : defaults
  const stored = Object.fromEntries(keys.map(key => [key.name, values?.[key.name] ?? offered[key.name]!]))
  const form = useForm<Record<string, string>>({ initialValues: stored })
  const [shown, setShown] = useState(values)
  // Others have stored something else meanwhile: what is typed here and not saved stays.
  useEffect(() => {
    if (JSON.stringify(values) === JSON.stringify(shown)) return
    setShown(values)
    const changed = changesOf(form)
    const unseen = setMeanwhile(keys, changed, form.getInitialValues(), values ?? {})
    form.setInitialValues(stored)
    form.setValues({ ...stored, ...changed })
    if (unseen !== undefined) form.setErrors(keyErrorsOf(unseen))
  })
  const saving = useMutation({
    async mutationFn() {
      const before = isNew ? defaults : form.getInitialValues()
      const changed = changesOf(form, before)
      const unseen = setMeanwhile(keys, changed, before, (await storedNow(name)) ?? {})
      if (unseen !== undefined) {
        // Saved again, it is replaced.
        await refresh()
        throw unseen
      }
      const opens = blocksPublic(name, values) && changed.block_public === 'off'
      if (opens && !(await ask(opensEverywhere))) return undefined
      if (locksConsoleOut(name, values, { ...values, ...changed }) && !(await ask(lockOut))) return undefined
      const saved = await call('updateConfigSubsystem', { params: { subsys: name }, body: { settings: changed } })
      // What is read next is what was saved here, though something else is typed by then.
      form.setInitialValues({ ...form.getInitialValues(), ...changed })
      return saved
    },
    async onSuccess(saved) {
      if (saved === undefined) return
      const { notApplied } = saved
      const message = notApplied.length === 0 ? texts.common.saved : words.afterRestart(notApplied.join(', '))
      notifications.show({ color: notApplied.length === 0 ? 'teal' : 'orange', message })
      await refresh()
    },
    onError: error => form.setErrors(keyErrorsOf(error)),
  })
  const { element, unsaid } = useBesideFields(saving.error, form.setErrors)
  const reset = async () => {
    // What the question said is of what was read.
    if (JSON.stringify(await storedNow(name)) !== JSON.stringify(values)) {
      await refresh()
      throw new Error(words.changedBefore)
    }
    await call('resetConfigSubsystem', { params: { subsys: name } })
    notifications.show({ color: 'teal', message: isNamed ? words.isRemoved(name) : words.isReset(name) })
    form.reset()
    if (isNamed) await onRemoved?.()
    await refresh()
  }
  return (
    <form {...element} onSubmit={form.onSubmit(() => saving.mutate())}>
      <Stack>
        {unsaid !== null && <ProblemAlert error={unsaid} />}
        {keys.map(key => (
          <Field
            key={key.name}
            of={key}
            isReadOnly={!mayChange}
            value={form.values[key.name] ?? ''}
            error={form.errors[key.name]}
            onChange={value => form.setFieldValue(key.name, value)}
          />
        ))}
        {mayChange && (
          <Group justify="flex-end">
            <Unsaved isDirty={form.isDirty()} />
            {values !== undefined && (isNamed || keys.some(key => values[key.name] !== key.default)) && (
              <Button variant="light" color="red" onClick={() => setResetting(true)}>
                {isNamed ? words.remove : words.reset}
              </Button>
            )}
            <Button type="submit" loading={saving.isPending} disabled={!form.isDirty()}>
              {texts.common.save}
            </Button>
          </Group>
        )}
      </Stack>
      {question}
      {isResetting && (
        <ConfirmDeletion
          title={isNamed ? words.removeTitle(name) : words.resetTitle(name)}
          action={isNamed ? words.remove : words.reset}
          onConfirm={reset}
          onClose={() => setResetting(false)}
        >
          <Text size="sm">{isNamed ? words.removeText : words.resetText}</Text>
          {blocksPublic(name, values) && opensEverywhere.text}
          {isAuditTarget(name) && <WaitingRecords name={name} />}
        </ConfirmDeletion>
      )}
    </form>
  )
}

const changesOf = (form: UseFormReturnType<Record<string, string>>, before: Values = form.getInitialValues()) =>
  Object.fromEntries(Object.entries(form.getValues()).filter(([key, value]) => value !== before[key]))

/** The server names a key by its path in the body; the form has the keys alone. */
const keyErrorsOf = (error: unknown) =>
  Object.fromEntries(
    Object.entries(formErrorsOf(error)).map(([path, message]) => [path.slice(path.lastIndexOf('.') + 1), message]),
  )

interface FieldProps {
  readonly of: Key
  readonly isReadOnly: boolean
  readonly value: string
  readonly error: ReactNode
  readonly onChange: (value: string) => void
}

export function Field({ of: key, isReadOnly, value, error, onChange }: FieldProps) {
  const description = (
    <>
      <Prose text={key.description} /> <Code>{key.default === '' ? words.noDefault : words.default(key.default)}</Code>{' '}
      {!key.applied && (
        <Badge size="xs" variant="light" color="orange" tt="none">
          {words.needsRestart}
        </Badge>
      )}
    </>
  )
  if (key.type === 'boolean') {
    return (
      <Switch
        label={key.name}
        description={description}
        error={error}
        checked={value === 'on'}
        disabled={isReadOnly}
        onChange={event => onChange(event.currentTarget.checked ? 'on' : 'off')}
      />
    )
  }
  const given = { label: key.name, description, value, error, readOnly: isReadOnly }
  if (key.type === 'choice') {
    // What is stored may be older than the choices.
    const choices = key.values.includes(value) ? key.values : [value, ...key.values]
    return (
      <NativeSelect
        {...given}
        data={choices.map(choice => ({ value: choice, label: choice === '' ? words.noChoice : choice }))}
        disabled={isReadOnly}
        onChange={event => onChange(event.currentTarget.value)}
        maw={fieldWidth}
      />
    )
  }
  if (key.type === 'list') return <List {...given} values={key.values} onChange={onChange} />
  return (
    <TextInput
      {...given}
      autoComplete="off"
      onChange={event => onChange(event.currentTarget.value)}
      {...(key.type !== 'string' && { maw: fieldWidth })}
    />
  )
}

interface ListProps {
  readonly label: string
  readonly description: ReactNode
  readonly value: string
  readonly error: ReactNode
  readonly readOnly: boolean
  /** Empty: any text. */
  readonly values: readonly string[]
  readonly onChange: (value: string) => void
}

/** The server keeps a list as one text, with commas. */
function List({ value, values, onChange, ...rest }: ListProps) {
  return (
    <TagsInput
      {...rest}
      placeholder={words.listHint}
      data={[...values]}
      value={value.split(',').filter(one => one !== '')}
      splitChars={[',']}
      onChange={chosen => onChange(chosen.join(','))}
    />
  )
}
