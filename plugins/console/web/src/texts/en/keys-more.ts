/** How a server gets its first encryption key. */
export const firstKey = {
  title: 'Give it a key',
  text: 'Run this where the server runs, and put the line that it prints into the environment file of the server. Keep a copy of the line elsewhere: from then on the server does not start without it, and nothing else opens encrypted objects.',
  command: 'Make a master key',
  restart:
    'Then have the service manager start the server anew: “Restart” of this console does not read the environment file.',
  server: 'Instead of that a key server may keep the keys: other variables (SVC_KMS_…) name it.',
  buckets: 'After that the settings of a bucket can have its new objects encrypted:',
}
