/** A new access key, or what may be changed of one. */
import { Switch, TextInput } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { call } from '../../api/client.ts'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { isoTime, localInput } from '../../parts/local-time.ts'
import { requireNoPlaceholder } from '../../parts/placeholder.ts'
import { requireNoMistakes } from '../../parts/policy-mistakes.ts'
import { policyTemplate } from '../../parts/policy-template.ts'
import { texts } from '../../texts/index.ts'
import type { AccessKey } from './access-keys.tsx'

const words = texts.accessKeys

const CheckedPolicy = lazy(async () => ({ default: (await import('../../parts/checked-policy.tsx')).CheckedPolicy }))

export type EditAccessKeyProps = {
  readonly onClose: () => void
} & (
  | {
      readonly accessKey?: undefined
      /** Whose key it becomes; empty: the caller's. */
      readonly user: string
      readonly onMade: (made: { accessKey: string; secretKey: string }) => void
    }
  | { readonly accessKey: AccessKey; readonly onChanged: () => Promise<void> }
)

export function EditAccessKey(props: EditAccessKeyProps) {
  const { accessKey: existing, onClose } = props
  const form = useForm({
    initialValues: {
      name: existing?.name ?? '',
      description: existing?.description ?? '',
      expiresAt: localOf(existing?.expiresAt),
      isLimited: existing?.policy != null,
      policy: JSON.stringify(existing?.policy ?? policyTemplate, undefined, 2),
    },
  })
  const { isLimited, policy } = form.values
  const save = async () => {
    const { name, description, expiresAt } = form.getValues()
    if (isLimited) {
      requireNoPlaceholder(policy)
      await requireNoMistakes(policy)
    }
    const body = {
      name,
      description,
      // As text: the places in the server's answer are places in what stands here.
      policy: isLimited ? policy : null,
      // Minutes are all that is shown: what is unchanged is not sent.
      ...(expiresAt !== localOf(existing?.expiresAt) && {
        expiresAt: expiresAt === '' ? null : isoTime(expiresAt, '/expiresAt'),
      }),
    }
    if (props.accessKey === undefined) {
      const { user, onMade } = props
      onMade(await call('createAccessKey', { body: { ...body, ...(user !== '' && { user }) } }))
      return
    }
    const isPolicyChanged = form.isDirty('isLimited') || (isLimited && form.isDirty('policy'))
    const { policy: given, expiresAt: until } = body
    const changed = {
      ...(form.isDirty('name') && { name }),
      ...(form.isDirty('description') && { description }),
      ...(isPolicyChanged && { policy: given }),
      ...(until !== undefined && { expiresAt: until }),
    }
    const { accessKey, etag } = props.accessKey
    await call('updateAccessKey', { params: { accessKey }, body: changed, ifMatch: etag })
    await props.onChanged()
    return undefined
  }
  return (
    <FormDialog
      form={form}
      title={titleOf(props)}
      submit={existing === undefined ? texts.common.create : texts.common.save}
      size={isLimited ? 'xl' : 'md'}
      onSubmit={save}
      onClose={onClose}
    >
      <TextInput
        label={texts.common.name}
        description={words.nameHint}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <TextInput label={words.description} {...form.getInputProps('description')} />
      <TextInput
        type="datetime-local"
        label={words.expiresAt}
        description={words.expiresHint}
        {...form.getInputProps('expiresAt')}
      />
      <Switch
        label={words.limit}
        description={words.limitHint}
        {...form.getInputProps('isLimited', { type: 'checkbox' })}
      />
      {isLimited && (
        <Suspense>
          <CheckedPolicy
            text={policy}
            onChange={text => form.setFieldValue('policy', text)}
            {...(existing?.policy == null && !form.isDirty('policy') && { example: texts.policies.placeholder })}
          />
        </Suspense>
      )}
    </FormDialog>
  )
}

function titleOf(props: EditAccessKeyProps): string {
  if (props.accessKey !== undefined) return props.accessKey.accessKey
  return props.user === '' ? words.create : words.createFor(props.user)
}

const localOf = (time: string | null | undefined) => (time == null ? '' : localInput(Date.parse(time)))
