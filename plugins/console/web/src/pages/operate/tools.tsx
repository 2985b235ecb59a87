/** What is done now and then: exports and imports, speed test, profile. */
import { SimpleGrid, Stack, Title } from '@mantine/core'
import { useMay } from '../../app/signed-in.ts'
import { Section } from '../../parts/section.tsx'
import { texts } from '../../texts/index.ts'
import { Archives } from './archives.tsx'
import { Profile } from './profile.tsx'
import { SpeedTest } from './speed-test.tsx'

const words = texts.tools

export function Tools() {
  const mayMove = [useMay('admin:ExportCluster'), useMay('admin:ImportCluster'), useMay('admin:ConfigUpdate')]
  const mayMeasure = useMay('admin:Speedtest')
  const mayProfile = useMay('admin:Profiling')
  return (
    <Stack>
      <Title order={1} size="h2">
        {words.title}
      </Title>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        {mayMove.includes(true) && (
          <Section title={words.archiveTitle} hint={words.archiveHint}>
            <Archives />
          </Section>
        )}
        {mayMeasure && (
          <Section title={words.speedTitle} hint={words.speedHint}>
            <SpeedTest />
          </Section>
        )}
        {mayProfile && (
          <Section title={words.profileTitle} hint={words.profileHint}>
            <Profile />
          </Section>
        )}
      </SimpleGrid>
    </Stack>
  )
}
