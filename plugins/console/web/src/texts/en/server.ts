/** The server as a whole: its state, restart and stop, metrics, drives, the configuration as one document. */
import { counted } from '../counted.ts'

export const server = {
  title: 'Server',
  version: 'Version',
  build: 'Built',
  deployment: 'Deployment',
  mode: 'Drives',
  modes: { snsd: 'one drive', snmd: 'several drives', mnmd: 'several nodes' },
  started: 'Running since',
  node: 'Node',
  tls: 'TLS',
  tlsOff: (secure: readonly string[]) =>
    secure.length === 0
      ? 'off: connections to this server are not encrypted'
      : `off for the S3 API and this console; on for distributions, port ${secure.join(', ')}`,
  tlsOn: (version: string) => `on, from ${version}`,
  certificate: (name: string) => `Certificate ${name}`,
  refused: (why: string) =>
    `The new certificate in SVC_CERTS_DIR is refused, and the old one stays in use: ${why}. A restart would end the server until this is mended.`,
  /** `date`: empty where the certificate says none. */
  ends: (name: string, days: number, date: string) =>
    date === ''
      ? `The end of the certificate ${name} of this server is not a date: programs and browsers refuse to connect.`
      : days < 0
        ? `The certificate ${name} of this server expired on ${date}: programs and browsers refuse to connect.`
        : `The certificate ${name} of this server expires soon, on ${date}, in ${days === 0 ? 'less than a day' : counted(days, 'day')}.`,
  until: (domains: string, date: string) =>
    `${domains}, ${date === '' ? 'with an end that is not a date' : `until ${date}`}`,
  encryption: 'Encryption keys',
  noEncryption: 'not configured',
  telemetry: 'Traces go to',
  telemetryOff: 'nowhere',
  state: 'State',
  states: { online: 'online', starting: 'starting', draining: 'stopping' },
  facts: 'This server',
  power: 'Restart and stop',
  powerHint:
    'Requests under way are answered first, for as long as SVC_STOP_TIMEOUT says (30 seconds). New ones are refused from the first moment, and programs that use S3 try again by themselves.',
  restart: 'Restart',
  restartTitle: 'Restart the server?',
  restartFailsTitle: 'It would not start again. Restart all the same?',
  restartFails: 'Mend this first, or have somebody ready who can start the server where it runs.',
  restartForce: 'Restart all the same',
  restartText:
    'The same program begins anew with the settings that need a restart, and the environment that it was started with: a changed environment file counts only after the service manager has started the server anew. Uploads and downloads under way are finished first, as far as they need no longer than SVC_STOP_TIMEOUT (usually 30 seconds). This page waits; when the server is back you sign in again, because sessions end with it.',
  stop: 'Stop',
  stopTitle: 'Stop the server?',
  stopText:
    'Nobody can read or write any more until somebody starts it again where it runs: this page cannot. A supervisor that starts it whenever it ends does so at once.',
  stopTyped: 'stop',
  waiting: 'The server ends. What it is doing is finished first.',
  gone: 'The server has ended. This page waits for it to answer again.',
  stopped: 'The server has stopped. This page waits until somebody starts it again.',
  blockPublic: 'Block public access everywhere',
  blockPublicHint:
    'While this is on, nobody gets in without credentials, whatever policies, rules, access control lists and distributions say. Shares and signed links work.',
  blockPublicOn: 'Block public access in every bucket',
  opensTitle: 'Block public access no longer?',
  opensText:
    'What policies, rules, access control lists and distributions open to everybody is open at once, without credentials, in every bucket that has no block of its own.',
  opensConfirm: 'Yes, block no longer',
  closesTitle: 'When you save this, nobody gets in without credentials any more (403):',
  closesNothing: 'No bucket and no website is open to everybody now.',
  closesUnseen: 'Nothing that you may see is open to everybody now.',
  closesObjectLists:
    'In buckets where access control lists of single objects count, objects that everybody may read by theirs are refused (403) as well.',
  closedBuckets: 'Buckets that everybody may read, list or write now, at least in part:',
  closedBucketsUnknown: 'Which buckets are open you may not see of all: those that everybody may use answer 403.',
  closedSites: 'Websites that everybody may open now:',
  closedSitesUnknown: 'Which websites stop you may not see: those that everybody may open answer 403.',
  closedMore: (count: number, hasMore: boolean) =>
    count === 0 ? 'and more' : `and ${hasMore ? 'at least ' : ''}${count.toLocaleString('en')} more`,
  blockMode: 'What would open a bucket',
  blockModes: { reject: 'is refused when somebody saves it', ignore: 'is saved, and has no effect' },
}

export const account = {
  title: 'Your account',
  open: (user: string) => `${user}: your account`,
  root: 'This is the root user. Its secret key is set by SVC_ROOT_PASSWORD where the server runs.',
  ofKey: 'This is an access key. Its secret key is made anew on the page “Access keys”.',
  signedIn: 'Signed in',
  until: 'Session ends',
  groups: 'Groups',
  secret: 'Change your secret key',
  secretHint: 'Your other sessions end. Programs that use the current key need the new one.',
  current: 'Current secret key',
  next: 'New secret key',
  nextHint: '8 to 128 characters: letters, digits and signs, no spaces',
  again: 'New secret key, once more',
  differs: 'is not the same',
  change: 'Change',
  changed: 'Your secret key is changed.',
}

export const metrics = {
  title: 'Metrics',
  family: 'Metric',
  familyHint: 'Type a part of its name',
  since: 'Of the last',
  spans: { '1h': 'hour', '6h': '6 hours', '24h': '24 hours' },
  fn: 'Show',
  fns: { raw: 'values', rate: 'increase per second', quantile: '99 of 100 (p99)' },
  by: 'A line for each',
  byNothing: 'all together',
  chart: (name: string) => `A chart of ${name}`,
  none: 'There is no value of it in this time.',
  noneYet:
    'No request was counted in this time. What this console does is not counted by it: send a request with an S3 client, for example `aws s3 ls`.',
  rest: (count: number) => `The first ${count} lines are drawn. There are more.`,
  line: (labels: string) => (labels === '' ? 'all' : labels),
  token: 'Token for Prometheus',
  tokenTitle: 'A token for Prometheus',
  tokenHint:
    'Prometheus scrapes with it as you. It is stored nowhere: it ends with its expiry, with your right to read metrics, or when your secret key changes. Whoever reads it can try secret keys against it: sign in as a user of its own whose key was generated, and not as root with a password that one can remember.',
  targets: 'Endpoints',
  targetNames: { node: 'node', cluster: 'cluster', bucket: 'buckets' },
  expiry: 'It works for',
  expiries: [
    { value: '2592000', label: '30 days' },
    { value: '31536000', label: 'one year' },
    { value: '157680000', label: '5 years' },
  ],
  make: 'Make token',
  config: 'For prometheus.yml',
  onlyNow: 'It is shown once, with the token in it.',
  everybody: 'Everybody may scrape this server: no token is needed.',
}

export const chart = {
  began: (date: string) => `There are measurements only since ${date}.`,
  highest: (peaks: string) => `Highest: ${peaks}`,
  peak: (line: string, value: string, time: string) => `${line} ${value} at ${time}`,
  now: (line: string, value: string) => `${line}: ${value} now`,
  nothing: (line: string) => `${line}: no value`,
}
