/** The dialog of a user and of a group: policies, who belongs to what, a note, and a switch for those that exist. */
import { Switch, TextInput } from '@mantine/core'
import { useRef } from 'react'
import { atField } from '../api/problem.ts'
import { useMay } from '../app/signed-in.ts'
import { texts } from '../texts/index.ts'
import { useForm } from './form.ts'
import { FormDialog } from './form-dialog.tsx'
import { NamesInput, type NamesInputProps } from './names-input.tsx'

export interface Principal {
  readonly name: string
  readonly description: string
  readonly status: 'enabled' | 'disabled'
  readonly policyNames: readonly string[]
  /** Groups of a user, members of a group. */
  readonly related: readonly string[]
}

export interface PrincipalFormProps {
  /** Absent for a new one. */
  readonly existing: Principal | undefined
  readonly words: {
    readonly create: string
    readonly name: string
    readonly nameHint?: string
    readonly related: string
    readonly isEnabled: string
  }
  readonly related: NamesInputProps['of']
  /** The rights without which nobody may be enabled and disabled. */
  readonly switchRights: { readonly enabled: string; readonly disabled: string }
  /** Resolves when it is stored. */
  readonly onSave: (given: Principal) => Promise<void>
  readonly onClose: () => void
}

/** The name of a user is its access key in the body. */
const fieldOf = (path: string): string =>
  path === 'accessKey' ? 'name' : path.replace(/^(members|groups|users)(?=\.|$)/, 'related')

export function PrincipalForm({ existing, words, related, switchRights, onSave, onClose }: PrincipalFormProps) {
  const form = useForm({
    initialValues: {
      name: existing?.name ?? '',
      description: existing?.description ?? '',
      isEnabled: existing?.status !== 'disabled',
      policyNames: [...(existing?.policyNames ?? [])],
      related: [...(existing?.related ?? [])],
    },
  })
  const mayAttach = useMay('admin:AttachUserOrGroupPolicy')
  const mayJoin = useMay('admin:AddUserToGroup')
  const { enabled, disabled } = switchRights
  const maySwitch = useMay(existing?.status === 'disabled' ? enabled : disabled)
  const save = () => {
    const { name, isEnabled, ...given } = form.getValues()
    return onSave({ ...given, name: name.trim(), status: isEnabled ? 'enabled' : 'disabled' }).catch(error => {
      const isRelated = related === 'users' ? 'user_not_found' : 'group_not_found'
      throw atField(atField(error, 'policy_not_found', '/policyNames'), isRelated, '/related')
    })
  }
  return (
    <FormDialog
      form={{
        setErrors: errors =>
          form.setErrors(Object.fromEntries(Object.entries(errors).map(([path, text]) => [fieldOf(path), text]))),
        isDirty: () => form.isDirty(),
      }}
      title={existing?.name ?? words.create}
      submit={existing === undefined ? texts.common.create : texts.common.save}
      onSubmit={save}
      onClose={onClose}
    >
      {existing === undefined && (
        <TextInput
          label={words.name}
          {...(words.nameHint !== undefined && { description: words.nameHint })}
          required
          autoComplete="off"
          data-autofocus
          {...form.getInputProps('name')}
        />
      )}
      {mayAttach && (
        <NamesInput
          label={texts.users.policies}
          of="policies"
          {...form.getInputProps('policyNames')}
          value={form.values.policyNames}
        />
      )}
      {mayJoin && (
        <NamesInput label={words.related} of={related} {...form.getInputProps('related')} value={form.values.related} />
      )}
      <TextInput label={texts.common.description} {...form.getInputProps('description')} />
      {existing !== undefined && maySwitch && (
        <Switch label={words.isEnabled} {...form.getInputProps('isEnabled', { type: 'checkbox' })} />
      )}
    </FormDialog>
  )
}

/** Only what was changed here: what is shown may be older than what others have changed. */
export function changedFields(before: Principal, after: Principal): Partial<Pick<Principal, 'description' | 'status'>> {
  return {
    ...(after.description !== before.description && { description: after.description }),
    ...(after.status !== before.status && { status: after.status }),
  }
}

type Change = ReturnType<typeof changedFields>

/** Refuses a note that somebody else has changed since the dialog opened, once: whoever saves again has seen theirs. */
export function useNoteCheck() {
  const told = useRef<string>(undefined)
  return async ({ description: before }: Principal, { description }: Change, read: () => Promise<string>) => {
    if (description === undefined) return
    const now = await read()
    if (now === before || now === description || now === told.current) return
    told.current = now
    throw new Error(texts.common.noteChanged(now))
  }
}
