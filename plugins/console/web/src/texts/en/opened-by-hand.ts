/** Folders for everybody, and forms by which others upload: words that the first load need not have. */

export const simpleAccess = {
  title: 'Folders for everybody',
  hint: 'Written into the policy as statements; other statements stay. End a folder with a slash: without one, every key that begins so is meant.',
  prefix: { label: 'Folder', placeholder: 'The whole bucket' },
  preset: 'Everybody may',
  presets: {
    'download-list': 'read and list',
    download: 'read, by names that they know',
    upload: 'write, and not read',
    public: 'read, write, delete and list',
  },
  verbs: {
    'download-list': 'read and list',
    download: 'read, by its name,',
    upload: 'write (and so overwrite), but not read,',
    public: 'read, write, delete and list',
  },
  none: 'No folder is open to everybody by a statement of this kind.',
  apply: 'Allow',
  remove: (keys: string) => `Stop allowing ${keys}`,
  removeTitle: (keys: string) => `Nothing of ${keys} for everybody?`,
  removeText: 'The statements that allowed it are taken out of the policy. Users keep what their own policies allow.',
  draftLost: 'What is typed in the policy and not saved is lost. To keep it, cancel this, and save it first.',
  removeAll: 'Remove all',
  removeAllTitle: 'Nothing of this bucket for everybody?',
}

export const postForm = {
  action: 'Upload form',
  title: 'A form that uploads to this bucket',
  hint: 'For a web page whose visitors upload without credentials: the form is signed with yours, and works for as long as you may write here.',
  target: 'Names of the files',
  targets: { prefix: 'as the visitor’s file, in the folder', key: 'always this one' },
  folder: 'Folder',
  folderHint: 'Empty: the whole bucket. Objects that are there already can be replaced.',
  key: 'Key',
  keyHint: 'Each upload replaces the one before, and an object that has this key already.',
  wholeTitle: 'A form for the whole bucket?',
  wholeText:
    'Whoever gets the form can replace every object of this bucket with a file of the same name, until it ends. With a folder only objects in it can be replaced.',
  wholeConfirm: 'Yes, for the whole bucket',
  expiry: 'It works for',
  sizeMin: 'At least (bytes)',
  sizeMax: { label: 'At most (MiB)', description: 'Empty: 5 GiB.' },
  type: { label: 'Content type', description: 'image/png, or image/ for all of a kind. Empty: any.' },
  typeLabel: (beginning: string) => `Content type (begins with ${beginning})`,
  redirect: { label: 'Page to show afterwards', description: 'Empty: none.' },
  make: 'Make form',
  html: 'HTML',
  until: (date: string) => `It works until ${date}.`,
}
