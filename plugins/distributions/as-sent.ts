import { percentDecoded } from 'svc/plugins/access-rules/api'

/** A path with its query as browsers send what somebody types or pastes: what cannot stand in a URL is percent-encoded. */
export const asSent = (target: string): string => target.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent)

/** A path with its query, or a URL, in which each % that begins no escape of UTF-8 stands for itself: sent as it is, it would be answered 400. */
export const withPlainPercents = (target: string): string =>
  target.replace(/(?:%[0-9a-f]{2})+|%/gi, found =>
    percentDecoded(found) === undefined ? found.replaceAll('%', '%25') : found,
  )
