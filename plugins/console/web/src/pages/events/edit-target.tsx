/** A target of events: its kind and name, whether it is enabled, and the settings of its kind. */
import { NativeSelect, Switch, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { atField, problemAt } from '../../api/problem.ts'
import { fieldLabel } from '../../parts/field-label.ts'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { texts } from '../../texts/index.ts'
import { setMeanwhile, storedNow } from '../settings/set-meanwhile.ts'
import type { Subsystem, Values } from '../settings/settings.tsx'
import { Field } from '../settings/subsystem-form.tsx'
import { prefix } from './target-names.ts'

const words = texts.events

/** Those that everybody needs stand above the queue and what is only noted. */
const last = ['queue_limit', 'queue_dir', 'comment']

export interface EditTargetProps {
  /** Subsystems of targets, the one that is offered first at the beginning. */
  readonly kinds: readonly Subsystem[]
  /** Absent for a new one. */
  readonly existing?: { readonly subsystem: string; readonly id: string; readonly values: Values }
  readonly onClose: () => void
}

export function EditTarget({ kinds, existing, onClose }: EditTargetProps) {
  const queryClient = useQueryClient()
  const form = useForm({
    initialValues: {
      kind: existing?.subsystem.split(':')[0] ?? kinds[0]?.name ?? '',
      id: '',
      /** What was changed. */
      settings: existing === undefined ? { enable: 'on' } : ({} as Record<string, string>),
    },
  })
  const [before, setBefore] = useState<Values>(existing?.values ?? {})
  const { kind, settings } = form.values
  const keys = kinds.find(({ name }) => name === kind)?.keys ?? []
  const change = (name: string, value: string) => form.setFieldValue('settings', { ...settings, [name]: value })
  const save = async () => {
    const changed = Object.fromEntries(
      keys.flatMap(({ name, default: otherwise }) => {
        const value = settings[name]
        return value === undefined || value === (before[name] ?? otherwise) ? [] : [[name, value]]
      }),
    )
    const subsys = existing?.subsystem ?? `${kind}:${form.values.id.trim()}`
    const now = await storedNow(subsys)
    if (existing === undefined && now !== undefined) throw problemAt('/id', words.taken(form.values.id.trim()))
    if (existing !== undefined) {
      // Saved, it would be a new one, without its secrets.
      if (now === undefined) throw new Error(words.isGone)
      const unseen = setMeanwhile(keys, changed, before, now)
      // Saved again, it is replaced.
      setBefore(now)
      if (unseen !== undefined) throw unseen
    }
    const { notApplied } = await call('updateConfigSubsystem', {
      params: { subsys },
      body: { settings: changed },
    }).catch(error => {
      throw atField(error, 'uri_too_long', '/id')
    })
    const isApplied = notApplied.length === 0
    const message = isApplied ? texts.common.saved : texts.settings.afterRestart(notApplied.join(', '))
    notifications.show({ color: isApplied ? 'teal' : 'orange', message })
    await Promise.all([['notify-targets'], ['config']].map(queryKey => queryClient.invalidateQueries({ queryKey })))
  }
  // The server names a key by its subsystem: `notify_webhook:mine.endpoint`.
  const fields = {
    setErrors: (errors: Record<string, string>) =>
      form.setErrors(
        Object.fromEntries(
          Object.entries(errors).map(([path, message]) => [
            path === 'id' || path === 'subsys' ? 'id' : `settings.${path.slice(path.lastIndexOf('.') + 1)}`,
            message,
          ]),
        ),
      ),
    isDirty: () => form.isDirty(),
  }
  return (
    <FormDialog
      title={existing?.id ?? words.add}
      submit={texts.common.save}
      size="lg"
      form={fields}
      onSubmit={save}
      onClose={onClose}
    >
      {existing === undefined && (
        <>
          <NativeSelect
            label={texts.settings.kind}
            data={kinds.map(({ name }) => ({ value: name, label: name.slice(prefix.length).replaceAll('_', ' ') }))}
            {...form.getInputProps('kind')}
          />
          <TextInput
            label={texts.settings.id}
            description={texts.settings.idHint}
            required
            pattern="[A-Za-z0-9_\-]+"
            title={texts.settings.idHint}
            autoComplete="off"
            data-autofocus
            {...form.getInputProps('id')}
          />
        </>
      )}
      <Switch
        label={words.isEnabled}
        description={words.isEnabledHint}
        checked={(settings.enable ?? before.enable) === 'on'}
        error={form.errors['settings.enable']}
        onChange={event => change('enable', event.currentTarget.checked ? 'on' : 'off')}
      />
      {keys
        .filter(({ name }) => name !== 'enable')
        .sort((one, other) => last.indexOf(one.name) - last.indexOf(other.name))
        .map(key => (
          <Field
            key={`${kind} ${key.name}`}
            of={{ ...key, name: fieldLabel(key.name) }}
            isReadOnly={false}
            value={settings[key.name] ?? before[key.name] ?? key.default}
            error={form.errors[`settings.${key.name}`]}
            onChange={value => change(key.name, value)}
          />
        ))}
    </FormDialog>
  )
}
