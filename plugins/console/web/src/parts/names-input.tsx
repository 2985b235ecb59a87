/** Names chosen from what the server has, or typed: policies, groups, members. */

import { useQuery } from '@tanstack/react-query'
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
  readonly onChange: (value: string[]) => void
}

export function NamesInput({ label, of, value, onChange }: NamesInputProps) {
  // Who may not list them can still type them.
  const { data = [] } = useQuery({ queryKey: ['names', of], queryFn: sources[of], retry: false })
  const hint = value.length === 0 ? { placeholder: texts.common.chooseOrType } : {}
  return <TagsInput label={label} data={data} value={value} onChange={onChange} clearable {...hint} />
}
