/** Names chosen from what the server has, or typed: policies, groups, members. */

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { call } from '../api/client.ts'
import { texts } from '../texts/index.ts'
import { TagsInput } from './tags-input.tsx'

const shownMax = 200

const sources = {
  policies: async () => (await call('listPolicies', { query: { limit: shownMax } })).items.map(({ name }) => name),
  groups: async () => (await call('listGroups', { query: { limit: shownMax } })).items.map(({ name }) => name),
  users: async () => (await call('listUsers', { query: { limit: shownMax } })).items.map(({ accessKey }) => accessKey),
}

export interface NamesInputProps {
  readonly label: string
  readonly of: keyof typeof sources
  readonly value: string[]
  readonly error?: ReactNode
  readonly onChange: (value: string[]) => void
}

/** `isWhole`: there are no others. Who may not list them gets none, and can still type them. */
export function useNames(of: keyof typeof sources, enabled = true): { names: readonly string[]; isWhole: boolean } {
  const { data } = useQuery({ queryKey: ['names', of], queryFn: sources[of], retry: false, enabled })
  return { names: data ?? [], isWhole: data !== undefined && data.length < shownMax }
}

export function NamesInput({ label, of, ...input }: NamesInputProps) {
  const { names } = useNames(of)
  const hint = input.value.length === 0 ? { placeholder: texts.common.chooseOrType } : {}
  return <TagsInput label={label} data={[...names]} {...input} clearable {...hint} />
}
