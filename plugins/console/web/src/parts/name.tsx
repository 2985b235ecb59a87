/** A name, or other text, that somebody else has chosen: it changes nothing of the text around it, and hides nothing of itself. */
import { Fragment, type ReactNode } from 'react'
import { isPlain, piecesOf } from './shown-text.ts'

export function Name({ children: text }: { readonly children: string }) {
  // Lists have thousands of them.
  if (isPlain(text)) return text
  return (
    <bdi>
      {piecesOf(text).map((piece, index) =>
        index % 2 === 0 ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one text have no other
          <Fragment key={index}>{piece}</Fragment>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same
          <span key={index} className="hidden-character">
            {piece}
          </span>
        ),
      )}
    </bdi>
  )
}

/** For parts of the page that are given elements or plain text. */
export const named = (content: ReactNode): ReactNode => (typeof content === 'string' ? <Name>{content}</Name> : content)
