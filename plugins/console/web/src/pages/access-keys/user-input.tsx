import { Autocomplete } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useMay } from '../../app/signed-in.ts'
import { texts } from '../../texts/index.ts'

export interface UserInputProps {
  readonly label: string
  /** Empty: the caller. */
  readonly user: string
  readonly onChoose: (user: string) => void
}

const offeredMax = 20

/** A user, chosen from those whose names begin as typed, or typed to the end and entered. */
export function UserInput({ label, user, onChoose }: UserInputProps) {
  const [typed, setTyped] = useState(user)
  const [prefix] = useDebouncedValue(typed.trim(), 200)
  const { data = [] } = useQuery({
    queryKey: ['users', 'names', prefix],
    queryFn: async ({ signal }) =>
      (await call('listUsers', { query: { prefix, limit: offeredMax }, signal })).items.map(
        ({ accessKey }) => accessKey,
      ),
    enabled: useMay('admin:ListUsers'),
    retry: false,
  })
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        onChoose(typed.trim())
      }}
    >
      <Autocomplete
        label={label}
        placeholder={texts.accessKeys.yourself}
        data={data}
        value={typed}
        onChange={setTyped}
        onOptionSubmit={onChoose}
        clearable
        onClear={() => onChoose('')}
        w={280}
        maw="100%"
      />
    </form>
  )
}
