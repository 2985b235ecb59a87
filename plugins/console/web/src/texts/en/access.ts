/** Users, groups, policies and keys. */
import { formatCount } from '../../parts/format.ts'

export const users = {
  title: 'Users',
  create: 'Create user',
  noUser: (name: string) => `There is no user "${name}".`,
  none: 'There is no user yet. The root user needs none; everybody else, and every program, should have one of their own.',
  name: 'User',
  nameHint: 'The name is also the access key that the user signs in with. A secret key is made for it.',
  policies: 'Policies',
  groups: 'Groups',
  keys: 'Access keys',
  openKeys: (name: string, keys: number) => `${keys} access ${keys === 1 ? 'key' : 'keys'} of ${name}`,
  isEnabled: 'The user may sign in and make requests',
  newSecret: 'New secret key',
  newSecretTitle: (name: string) => `A new secret key for ${name}?`,
  newSecretText: 'The current secret key does not work any more from then on, and sessions that began with it end.',
  deleted: (name: string) => `User ${name} is deleted.`,
  deleteTitle: (name: string) => `Delete user ${name}?`,
  deleteText: (keys: number) =>
    `${
      keys === 0
        ? 'The user has no access keys of its own.'
        : `The user’s ${keys} access ${keys === 1 ? 'key is' : 'keys are'} deleted too, and programs that use ${keys === 1 ? 'it' : 'them'} stop working.`
    } Links that the user has shared or signed stop working at once. Objects stay.`,
}

export const groups = {
  title: 'Groups',
  create: 'Create group',
  none: 'There is no group yet. A group gives its policies to all of its members.',
  members: 'Members',
  isEnabled: 'The group’s policies count',
  deleteTitle: (name: string) => `Delete group ${name}?`,
  deleteText: (members: number) =>
    members === 0
      ? 'The group has no members.'
      : `It has ${members === 1 ? 'one member' : `${members} members`}: take them out, in Edit, before you delete it.`,
  deleteUnknown: 'Where it has members, the server refuses: take them out first.',
}

export const policies = {
  placeholder: 'Replace BUCKET by the name of your bucket: as it is, the policy allows nothing.',
  title: 'Policies',
  create: 'Create policy',
  none: 'There is no policy.',
  kind: 'Kind',
  builtIn: 'built in',
  own: 'own',
  view: 'View',
  document: 'Document',
  exampleLabel: 'Example, not saved',
  example: 'This is an example: put the name of a user in the place of USER, and choose actions and keys.',
  placeholderUser: 'Replace USER by the name of your user.',
  dots: 'must not be one or two dots',
  taken: (name: string) => `There is a policy “${name}” already: edit that one, or take another name.`,
  isGone: 'Somebody has deleted this policy meanwhile. “Save” makes it again as it stands here.',
  mistakes: (count: number) =>
    `It was not saved: ${count === 1 ? 'a mistake was' : `${formatCount(count)} mistakes were`} found in it. What is still wrong is shown below.`,
  place: (line: number, column: number) => `Line ${line}, column ${column}`,
  deleteTitle: (name: string) => `Delete policy ${name}?`,
  deleteText: (attached: readonly string[]) =>
    attached.length === 0
      ? 'It is attached to nobody.'
      : `It is attached to ${attached.slice(0, 5).join(', ')}${attached.length > 5 ? ` and ${attached.length - 5} more` : ''}: take it away from them before you delete it.`,
  deleteUnknown: 'Where a user or a group has it, the server refuses: take it away from them first.',
}

export const accessKeys = {
  title: 'Access keys',
  hint: 'Keys for programs. A key may do what its user may, or less.',
  create: 'Create access key',
  createFor: (user: string) => `Create access key for ${user}`,
  none: 'There is no access key yet. Each program should have one of its own: it can be limited, and taken away alone.',
  noneOf: (user: string) => `${user} has no access key.`,
  of: 'Keys of',
  yourself: 'yourself',
  showOwn: 'Show my own',
  user: 'User',
  rights: 'May do',
  allRights: 'what its user may',
  lessRights: 'less than its user',
  nameHint: 'What the key is for, such as backup of the laptop',
  description: 'Note',
  limit: 'It may do less than its user',
  limitHint: 'A policy: the key may do what both the policy and its user’s rights allow.',
  states: { active: 'active', disabled: 'disabled', expired: 'expired' },
  rotate: 'Rotate',
  rotateTitle: (key: string) => `A new secret key for ${key}?`,
  expiresAt: 'Expires',
  expiresHint: 'Empty: never',
  disableTitle: (key: string) => `Disable access key ${key}?`,
  disableText: 'Programs that use it are refused until it is enabled again.',
  deleteTitle: (key: string) => `Delete access key ${key}?`,
  deleteText: 'Programs that use it stop working.',
}

export const secrets = {
  title: 'Keep this key',
  onlyNow:
    'The secret key is shown once. Copy or download it now; afterwards nobody can read it, and only a new one helps.',
  download: 'Download',
  endpoint: 'Address of the S3 API',
  region: 'Region',
  environment: 'For the AWS CLI and SDKs',
  kept: 'I have kept it',
  leaveTitle: 'Leave without keeping it?',
  leaveText: 'What is shown here is shown once, and is lost when you leave.',
}

export const simulator = {
  title: 'Why allowed or denied',
  open: 'Try what is allowed',
  notKnown:
    'Tags of the object are not looked at, as if it had none. Access rules that ask for the host, the method or a header apply here if they deny, and do not if they allow.',
  openFor: (user: string) => `Try what ${user} may do`,
  user: 'User',
  userHint: 'Empty: yourself',
  action: 'Action',
  actionHint: 's3:GetObject, admin:ListUsers …',
  bucket: 'Bucket',
  object: 'Key of the object',
  folder: 'Folder',
  folderHint: 'Such as photos/. Empty: the whole bucket.',
  sourceIp: 'From address',
  sourceIpHint: 'Empty: yours',
  run: 'Try',
  allowed: 'allowed',
  denied: 'denied',
  statements: 'Statements that were looked at',
  policy: 'Policy',
  /** As the server's sentences and its API count. */
  statement: 'Statement',
  effect: 'Effect',
  fits: 'Fits',
  yes: 'yes',
  mismatch: (part: string) => `no: ${part} differs`,
  ofGroup: (group: string) => `group ${group}`,
  sources: {
    policy: 'policy of the user',
    'group-policy': 'policy of a group',
    'bucket-policy': 'policy of the bucket',
    acl: 'access control list',
    'embedded-policy': 'policy of the access key',
  },
}
