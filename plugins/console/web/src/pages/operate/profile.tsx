import { IconDownload } from '@tabler/icons-react'
import { exchange } from '../../api/client.ts'
import { Measurement } from '../../parts/measurement.tsx'
import { saveAs } from '../../parts/save-as.ts'
import { texts } from '../../texts/index.ts'

const words = texts.tools

type Kind = keyof typeof words.profileKinds

export function Profile() {
  return (
    <Measurement
      kinds={words.profileKinds}
      takesTime={kind => kind === 'cpu'}
      submit={words.record}
      icon={<IconDownload size={16} aria-hidden />}
      run={record}
    />
  )
}

async function record(type: Kind, seconds: number): Promise<void> {
  const query = { type, ...(type === 'cpu' && { seconds }) }
  const answer = await exchange('captureProfile', { query })
  saveAs(`${type}.pb.gz`, await answer.blob(), 'application/octet-stream')
}
