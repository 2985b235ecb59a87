/** A policy as JSON, checked by the server while one types. */
import { TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { call } from '../../api/client.ts'
import { atField, Problem, problemAt } from '../../api/problem.ts'
import { useMay } from '../../app/signed-in.ts'
import { CheckedPolicy } from '../../parts/checked-policy.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { requireNoPlaceholder } from '../../parts/placeholder.ts'
import { requireNoMistakes } from '../../parts/policy-mistakes.ts'
import { policyTemplate } from '../../parts/policy-template.ts'
import { texts } from '../../texts/index.ts'
import type { Policy } from './policies.tsx'

export function EditPolicy({ policy, onClose }: { policy?: Policy; onClose: () => void }) {
  const queryClient = useQueryClient()
  const [name, setName] = useState(policy?.name ?? '')
  const [stored, setStored] = useState(policy)
  const initial = useMemo(() => JSON.stringify(stored?.document ?? policyTemplate, undefined, 2), [stored])
  const [text, setText] = useState(initial)
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({})
  const mayChange = useMay('admin:CreatePolicy')
  const isFixed = policy?.builtIn === true || !mayChange
  const save = async () => {
    if (!isFixed) {
      const params = { name: name.trim() }
      // A browser takes it out of the address.
      if (params.name === '.' || params.name === '..') throw problemAt('/name', texts.policies.dots)
      if (policy === undefined && (await isTaken(params))) throw problemAt('/name', texts.policies.taken(params.name))
      requireNoPlaceholder(text)
      await requireNoMistakes(text)
      const condition = stored === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: stored.etag }
      await call('putPolicy', { params, body: { document: text }, ...condition })
      await queryClient.invalidateQueries({ queryKey: ['policies'] })
    }
  }
  /** What somebody else has stored meanwhile takes the place of the text. */
  const load = async () => {
    const found = await call('getPolicy', { params: { name: name.trim() } }).catch(error => {
      if (!(error instanceof Problem && error.status === 404)) throw error
      setStored(undefined)
      throw new Error(texts.policies.isGone)
    })
    setStored(found)
    setText(JSON.stringify(found.document, undefined, 2))
    await queryClient.invalidateQueries({ queryKey: ['policies'] })
  }
  return (
    <FormDialog
      title={policy?.name ?? texts.policies.create}
      size="xl"
      form={{ setErrors, isDirty: () => !isFixed && (text !== initial || name !== (policy?.name ?? '')) }}
      submit={isFixed ? texts.common.close : texts.common.save}
      onSubmit={() =>
        save().catch(error => {
          throw atField(error, 'uri_too_long', '/name')
        })
      }
      onConflict={load}
      onClose={onClose}
    >
      {policy === undefined && (
        <TextInput
          label={texts.common.name}
          required
          autoComplete="off"
          data-autofocus
          value={name}
          data-path="name"
          error={errors.name}
          onChange={event => {
            setName(event.currentTarget.value)
            setErrors({})
          }}
        />
      )}
      <CheckedPolicy
        text={text}
        onChange={setText}
        isReadOnly={isFixed}
        {...(policy === undefined && text === initial && { example: texts.policies.placeholder })}
      />
    </FormDialog>
  )
}

async function isTaken(params: { readonly name: string }): Promise<boolean> {
  try {
    await call('getPolicy', { params })
    return true
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return false
    throw error
  }
}
