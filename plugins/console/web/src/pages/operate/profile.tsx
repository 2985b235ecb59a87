import { IconDownload } from '@tabler/icons-react'
import { exchange } from '../../api/client.ts'
import { Measurement } from '../../parts/measurement.tsx'
import { saveAs } from '../../parts/save-as.ts'
import { toolTexts } from '../../texts/tools.ts'

const words = toolTexts

type Kind = keyof typeof words.profileKinds

export function Profile() {
  return (
    <Measurement
      kinds={words.profileKinds}
      hintOf={kind => words.profileKindHints[kind]}
      submit={words.record}
      icon={<IconDownload size={16} aria-hidden />}
      run={record}
    />
  )
}

async function record(type: Kind, seconds: number): Promise<void> {
  const answer = await exchange('captureProfile', { query: { type, seconds } })
  saveAs(`${type}.pb.gz`, await answer.blob(), 'application/octet-stream')
}
