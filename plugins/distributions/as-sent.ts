/** A path with its query as browsers send what somebody types or pastes: what cannot stand in a URL is percent-encoded. */
export const asSent = (target: string): string => target.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent)
