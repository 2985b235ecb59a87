/** A sentence that names pages of the navigation between quotation marks: each name leads to its page, for whoever has it. */
import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Fragment } from 'react'
import { mayOpen, pageGroups } from '../app/pages.ts'
import { useSignedIn } from '../app/signed-in.ts'
import { Name } from './name.tsx'

export function LinkedText({ text }: { readonly text: string }) {
  const { allowed } = useSignedIn()
  const pages = pageGroups.flatMap(group => group.pages).filter(page => mayOpen(page, allowed))
  return text.split(/(?<=“)([^”]*)(?=”)/).map((part, index) => {
    const page = index % 2 === 1 ? pages.find(({ label }) => label === part) : undefined
    if (page === undefined) {
      return (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one sentence have no identity but their place
        <Fragment key={index}>
          <Name>{part}</Name>
        </Fragment>
      )
    }
    return (
      <Anchor key={page.to} component={Link} to={page.to} underline="always" inherit>
        {part}
      </Anchor>
    )
  })
}
