/** What is done now and then: exports and imports, speed test, profile. */
import { SimpleGrid, Stack, Title } from '@mantine/core'
import { useSignedIn } from '../../app/signed-in.ts'
import { needsOfTools } from '../../app/tool-needs.ts'
import { Section } from '../../parts/section.tsx'
import { texts } from '../../texts/index.ts'
import { toolTexts } from '../../texts/tools.ts'
import { Export, Import } from './archives.tsx'
import { Profile } from './profile.tsx'
import { SpeedTest } from './speed-test.tsx'

const words = toolTexts

export function Tools() {
  const { allowed } = useSignedIn()
  const maySee = (part: keyof typeof needsOfTools) => needsOfTools[part].some(action => allowed.has(action))
  return (
    <Stack>
      <Title order={1} size="h2">
        {texts.tools.title}
      </Title>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        {maySee('export') && <Export />}
        {maySee('import') && <Import />}
        {maySee('speedTest') && (
          <Section title={words.speedTitle} hint={words.speedHint}>
            <SpeedTest />
          </Section>
        )}
        {maySee('profile') && (
          <Section title={words.profileTitle} hint={words.profileHint}>
            <Profile />
          </Section>
        )}
      </SimpleGrid>
    </Stack>
  )
}
