import { Button, Group, NativeSelect, NumberInput, Stack } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { exchange } from '../../api/client.ts'
import { choicesOf } from '../../parts/choices.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { saveAs } from '../../parts/save-as.ts'
import { texts } from '../../texts/index.ts'

const words = texts.tools

type Kind = keyof typeof words.profileKinds

export function Profile() {
  const [type, setType] = useState<Kind>('cpu')
  const [seconds, setSeconds] = useState<number | string>(10)
  const recording = useMutation({
    mutationFn: async () => {
      const query = { type, ...(type === 'cpu' && { seconds: Number(seconds) }) }
      const answer = await exchange('captureProfile', { query })
      saveAs(`${type}.pb.gz`, await answer.blob(), 'application/octet-stream')
    },
  })
  return (
    <Stack gap="sm">
      <Group align="flex-end">
        <NativeSelect
          label={words.measure}
          data={choicesOf(words.profileKinds)}
          value={type}
          onChange={event => setType(event.currentTarget.value as Kind)}
        />
        {type === 'cpu' && (
          <NumberInput label={words.seconds} min={1} max={60} w={100} value={seconds} onChange={setSeconds} />
        )}
        <Button
          leftSection={<IconDownload size={16} aria-hidden />}
          loading={recording.isPending}
          onClick={() => recording.mutate()}
        >
          {words.record}
        </Button>
      </Group>
      {recording.error !== null && <ProblemAlert error={recording.error} />}
    </Stack>
  )
}
