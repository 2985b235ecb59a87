/** What needs attention, each with the page where something is done about it. */
import { Anchor, Button, List } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { texts } from '../../texts/index.ts'
import type { Finding } from './health.ts'

export function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  if (findings.length === 0) return null
  return (
    // Paths of drives are long, and have no space where a line could end.
    <List size="sm" spacing="md" listStyleType="none" styles={{ itemLabel: { overflowWrap: 'anywhere' } }}>
      {findings.map(({ text, link, details = '' }) => (
        <List.Item key={text}>
          {link !== undefined && link.label === undefined ? (
            <Anchor component={Link} c="inherit" underline="always" inherit {...targetOf(link)}>
              {text}
            </Anchor>
          ) : /[.:!?]$/.test(text) ? (
            text
          ) : (
            `${text}.`
          )}
          {details !== '' && (
            <details>
              <summary>{texts.common.details}</summary>
              {details}
            </details>
          )}
          {link?.label !== undefined && (
            <div>
              <Button component={Link} variant="default" size="compact-sm" mt={4} {...targetOf(link)}>
                {link.label}
              </Button>
            </div>
          )}
        </List.Item>
      ))}
    </List>
  )
}

const targetOf = ({ to, search }: NonNullable<Finding['link']>) => ({ to, ...({ search } as object) })
