/** A new user, or what may be changed of one. */
import { Switch, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { changePolicies } from '../../parts/change-policies.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { NamesInput } from '../../parts/names-input.tsx'
import { texts } from '../../texts/index.ts'
import type { User } from './users.tsx'

export interface EditUserProps {
  /** Absent for a new one. */
  readonly user?: User
  readonly onClose: () => void
  readonly onSecret: (accessKey: string, secretKey: string) => void
}

export function EditUser({ user, onClose, onSecret }: EditUserProps) {
  const queryClient = useQueryClient()
  const form = useForm({
    initialValues: {
      accessKey: user?.accessKey ?? '',
      description: user?.description ?? '',
      isEnabled: user?.status !== 'disabled',
      policyNames: user?.policyNames ?? [],
      groups: user?.groups ?? [],
    },
  })
  const { accessKey, description, isEnabled, policyNames, groups } = form.values
  const status = isEnabled ? ('enabled' as const) : ('disabled' as const)

  const create = async () => {
    const made = await call('createUser', { body: { accessKey: accessKey.trim(), description, policyNames, groups } })
    await queryClient.invalidateQueries({ queryKey: ['users'] })
    if (made.secretKey === undefined) return undefined
    onSecret(made.accessKey, made.secretKey)
    return 'stay' as const
  }
  const change = async (existing: User) => {
    const params = { user: existing.accessKey }
    // Only what was changed here: the row may be older than what others have changed.
    const body = {
      ...(description !== existing.description && { description }),
      ...(status !== existing.status && { status }),
    }
    if (Object.keys(body).length > 0) await call('updateUser', { params, body })
    await changePolicies({ user: existing.accessKey }, existing.policyNames, policyNames)
    if (groups.join() !== existing.groups.join()) await call('setUserGroups', { params, body: { groups } })
    await queryClient.invalidateQueries({ queryKey: ['users'] })
    return undefined
  }
  return (
    <FormDialog
      form={form}
      title={user === undefined ? texts.users.create : user.accessKey}
      submit={user === undefined ? texts.common.create : texts.common.save}
      onSubmit={() => (user === undefined ? create() : change(user))}
      onClose={onClose}
    >
      {user === undefined && (
        <TextInput
          label={texts.users.name}
          description={texts.users.nameHint}
          required
          autoComplete="off"
          data-autofocus
          {...form.getInputProps('accessKey')}
        />
      )}
      <NamesInput
        label={texts.users.policies}
        of="policies"
        value={policyNames}
        onChange={names => form.setFieldValue('policyNames', names)}
      />
      <NamesInput
        label={texts.users.groups}
        of="groups"
        value={groups}
        onChange={names => form.setFieldValue('groups', names)}
      />
      <TextInput label={texts.common.description} {...form.getInputProps('description')} />
      {user !== undefined && (
        <Switch label={texts.users.isEnabled} {...form.getInputProps('isEnabled', { type: 'checkbox' })} />
      )}
    </FormDialog>
  )
}
