import { Anchor, Breadcrumbs, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Name } from '../../parts/name.tsx'
import { texts } from '../../texts/index.ts'

/** The folders from the bucket down to here; the last is where one is. */
export function Breadcrumb({ bucket, prefix }: { bucket: string; prefix: string }) {
  const parts = prefix.split('/').slice(0, -1)
  const steps = [
    { name: texts.objects.root, prefix: '' },
    ...parts.map((name, index) => ({ name, prefix: `${parts.slice(0, index + 1).join('/')}/` })),
  ]
  return (
    <Breadcrumbs style={{ flexWrap: 'wrap' }}>
      {steps.map((step, index) =>
        index === steps.length - 1 ? (
          <Text key={step.prefix} aria-current="page">
            <Name>{step.name}</Name>
          </Text>
        ) : (
          <Anchor
            key={step.prefix}
            component={Link}
            to="/buckets/$bucket"
            {...({ params: { bucket }, search: step.prefix === '' ? {} : { prefix: step.prefix } } as object)}
          >
            <Name>{step.name}</Name>
          </Anchor>
        ),
      )}
    </Breadcrumbs>
  )
}
