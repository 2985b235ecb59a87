/** A cache policy: its fields, and in words what it comes to while one types. */
import { Alert, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import { documentOf, draftOf, type LevelDraft, relatedFields } from './fields.ts'
import type { CachePolicy } from './policies.tsx'
import { PolicyFields } from './policy-fields.tsx'

const words = cacheTexts.cachePolicies

export interface EditPolicyProps {
  /** The initial policy. */
  readonly policy?: CachePolicy
  readonly isNew: boolean
  readonly onClose: () => void
  readonly onDone: () => Promise<void>
}

type Draft = LevelDraft & { readonly name: string; readonly comment: string }

export function EditPolicy({ policy, isNew, onClose, onDone }: EditPolicyProps) {
  const form = useForm<Draft>({
    initialValues: {
      ...draftOf(policy ?? {}),
      name: isNew ? '' : (policy?.name ?? ''),
      comment: policy?.comment ?? '',
    },
    related: relatedFields,
  })
  const isFixed = !isNew && policy?.builtin === true
  const save = async () => {
    if (isFixed) return
    const body = bodyOf(form.getValues())
    if (isNew) await call('createCachePolicy', { body })
    else await call('putCachePolicy', { params: { name: body.name }, body, ifMatch: policy?.etag as string })
    await onDone()
  }
  const outcome = useOutcome(form.values)
  return (
    <FormDialog
      title={isNew ? words.create : (policy?.name ?? '')}
      size="xl"
      {...(!isFixed && { submit: texts.common.save })}
      form={form}
      onSubmit={save}
      onClose={onClose}
    >
      {isNew && (
        <TextInput
          label={texts.common.name}
          required
          data-autofocus
          autoComplete="off"
          {...form.getInputProps('name')}
        />
      )}
      {!isFixed && <TextInput label={texts.common.description} {...form.getInputProps('comment')} />}
      <PolicyFields
        form={form}
        path=""
        draft={form.values}
        {...(outcome.data && { inherited: outcome.data.policy })}
        isReadOnly={isFixed}
      />
      {outcome.data !== undefined && (
        <Alert color="gray" title={words.summary} aria-live="polite">
          <Stack gap={4}>
            <Text size="sm">{outcome.data.summary}</Text>
            {outcome.data.inherited.length > 0 && (
              <Text size="sm" c="dimmed">
                {words.inheritedFrom(outcome.data.inherited.length)}
              </Text>
            )}
          </Stack>
        </Alert>
      )}
      {outcome.error !== null && (
        <Text size="sm" c="red" role="status">
          {outcome.error.message}
        </Text>
      )}
    </FormDialog>
  )
}

const bodyOf = ({ name, comment, ...draft }: Draft) => ({ name: name.trim(), comment, ...documentOf(draft) })

/** The draft as the server reads it, under any name. */
function useOutcome(draft: Draft) {
  const [checked] = useDebouncedValue(draft, 400)
  const body = { ...bodyOf(checked), name: 'draft' }
  return useQuery({
    queryKey: ['cache-policy-check', body],
    queryFn: ({ signal }) => call('validateCachePolicy', { body, signal }),
    placeholderData: keepPreviousData,
    retry: false,
  })
}
