/** What needs attention, each with the page where something is done about it. */
import { Anchor, List } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { texts } from '../../texts/index.ts'
import type { Finding } from './health.ts'

export function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  if (findings.length === 0) return null
  return (
    // Paths of drives are long, and have no space where a line could end.
    <List size="sm" spacing={4} listStyleType="none" styles={{ itemLabel: { overflowWrap: 'anywhere' } }}>
      {findings.map(({ text, link, details = '' }) => (
        <List.Item key={text}>
          {(link === undefined || link.label !== undefined) && `${text} `}
          {link !== undefined && (
            <Anchor
              component={Link}
              to={link.to}
              c="inherit"
              underline="always"
              inherit
              {...({ search: link.search } as object)}
            >
              {link.label ?? text}
            </Anchor>
          )}
          {details !== '' && (
            <details>
              <summary>{texts.common.details}</summary>
              {details}
            </details>
          )}
        </List.Item>
      ))}
    </List>
  )
}
