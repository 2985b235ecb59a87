import { Stack, Title } from '@mantine/core'
import { useMay } from '../../app/signed-in.ts'
import { texts } from '../../texts/index.ts'
import { Attention } from './attention.tsx'
import { Charts } from './charts.tsx'
import { Drives } from './drives.tsx'
import { Figures } from './figures.tsx'
import { FirstBucket } from './first-bucket.tsx'

export function Overview() {
  const maySeeServer = useMay('admin:ServerInfo')
  return (
    <Stack>
      <Title order={1} size="h2">
        {texts.overview.title}
      </Title>
      {maySeeServer && (
        <>
          <Attention />
          <Drives />
        </>
      )}
      <FirstBucket />
      <Figures />
      {useMay('admin:Prometheus') && <Charts />}
    </Stack>
  )
}
