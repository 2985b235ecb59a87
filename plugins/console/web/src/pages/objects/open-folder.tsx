/** A way into a bucket of which one may list a part alone. */
import { Button, Group, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { typedFolder } from '../../parts/typed-folder.ts'
import { texts } from '../../texts/index.ts'

export function OpenFolder({ bucket, prefix }: { bucket: string; prefix: string }) {
  const navigate = useNavigate()
  const [folder, setFolder] = useState(prefix)
  const wanted = typedFolder(folder.trim(), prefix)
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        if (wanted === '') return
        void navigate({ to: '/buckets/$bucket', params: { bucket }, search: { prefix: wanted } })
      }}
    >
      <Group align="flex-end" gap="xs">
        <TextInput
          label={texts.objects.openFolder}
          description={texts.objects.openFolderHint}
          placeholder="home/anna/"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          value={folder}
          onChange={event => setFolder(event.currentTarget.value)}
          flex="1 1 240px"
          maw={480}
        />
        <Button type="submit" disabled={wanted === ''}>
          {texts.objects.openFolderGo}
        </Button>
      </Group>
    </form>
  )
}
