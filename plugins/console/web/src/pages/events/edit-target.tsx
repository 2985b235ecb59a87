/** A target of events: its kind and name, whether it is enabled, and the settings of its kind. */
import { NativeSelect, Switch, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { atField, problemAt } from '../../api/problem.ts'
import { fieldLabel } from '../../parts/field-label.ts'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { texts } from '../../texts/index.ts'
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
      isEnabled: existing === undefined || existing.values.enable === 'on',
      /** What was changed. */
      settings: {} as Record<string, string>,
    },
  })
  const { kind, isEnabled, settings } = form.values
  const keys = (kinds.find(({ name }) => name === kind)?.keys ?? []).filter(({ name }) => name !== 'enable')
  const stored = (name: string, otherwise: string) => existing?.values[name] ?? otherwise
  const save = async () => {
    const changed = keys
      .map(({ name, default: otherwise }) => [name, settings[name], stored(name, otherwise)] as const)
      .flatMap(([name, value, before]) => (value === undefined || value === before ? [] : [[name, value]]))
    const subsys = existing?.subsystem ?? `${kind}:${form.values.id.trim()}`
    const isThere = await isTaken(subsys)
    if (existing === undefined && isThere) throw problemAt('/id', words.taken(form.values.id.trim()))
    // Saved, it would be a new one, without its secrets.
    if (existing !== undefined && !isThere) throw new Error(words.isGone)
    const enable = isEnabled ? 'on' : 'off'
    if (enable !== existing?.values.enable) changed.push(['enable', enable])
    const { notApplied } = await call('updateConfigSubsystem', {
      params: { subsys },
      body: { settings: Object.fromEntries(changed) },
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
        {...form.getInputProps('isEnabled', { type: 'checkbox' })}
      />
      {[...keys]
        .sort((one, other) => last.indexOf(one.name) - last.indexOf(other.name))
        .map(key => (
          <Field
            key={`${kind} ${key.name}`}
            of={{ ...key, name: fieldLabel(key.name) }}
            isReadOnly={false}
            value={settings[key.name] ?? stored(key.name, key.default)}
            error={form.errors[`settings.${key.name}`]}
            onChange={value => form.setFieldValue('settings', { ...settings, [key.name]: value })}
          />
        ))}
    </FormDialog>
  )
}

async function isTaken(subsys: string): Promise<boolean> {
  return subsys in (await call('getConfig', {}))
}
